"""Many command lines that cannot be meant: each one line, status 2, nothing written."""

import itertools
from pathlib import Path

import pytest

from simstudy.cli import main
from tests.cli.projects import STUDY, inside, write

pytestmark = pytest.mark.slow

OPTION = '    label: str = option("a word", default="one")\n'
OPTIONS = """
    spread: float = option("standard deviation", default=1.0, above=0, at_most=9)
    limits: list[float | None] = option("upper limits", default=[None], above=0)
    law: str = option("of the numbers", default="normal", one_of=("normal", "uniform"))
    shifted: bool = option("by one", default=False)
    n_rep: int = option("replicates", default=100, at_least=1)
"""
LONG = "x" * 2000
LONG_VALUES = ("n_rep", "out", "scale", "experiment.n_obs", "precision.mean_x")
COUNTS = ("n_rep", "max_rep", "seed", "experiment.n_rep")
SWITCHES = ("adopt", "figures", "progress", "experiment.shifted")
CHOICES = ("retry", "experiment.law")
GROUPS = ("experiment", "scale", "backend")


def settings(keys, values):
    """A line for each key with each value; what is said has to name the key."""
    return [((f"{key}={value}",), key) for key, value in itertools.product(keys, values)]


def lines(*arguments, names=""):
    """Lines with one argument each."""
    return [((argument,), names) for argument in arguments]


FAMILIES = {
    "counts": settings(COUNTS, ("-1", "1.5", "abc", "true", "[1,2]", "{a:1}", "nan", "",
                                "1e400", "é", "1 000")),
    "least": settings(("n_rep", "n_jobs", "max_rep"), ("0",)),
    "workers": settings(("n_jobs",), ("1.5", "abc", "true", "[1,2]", "{a:1}", "nan", "1e400")),
    "never nothing": settings(("seed", "max_rep", "figures", "precision"), ("null",)),
    "switches": settings(SWITCHES, ("2", "", "[true]", "maybe")),
    "choices": settings(CHOICES, ("al", "1", "true", "''", "[x]", "{a:1}", "é")),
    "groups": settings(GROUPS, ("nope", "", "[few,paper]", "../few", "a/b", "{a:1}", "é", "a b",
                                "few.py", "FEW")),
    "places": settings(("backend",), ("no.such:Class", "json:loads", "json:", ":x", "a:b:c")),
    "shares": settings(("shard",), ("4/3", "0/3", "a/b", "1/", "/3", "1/2/3", "-1/3", "1.5/3", "3",
                                    "auto", "auto/0", "[1]", "true")),
    "lists": settings(("experiment.n_obs",), ("[]", "[0]", "[2.5]", "[a]", "{a:1}", "null",
                                              "[[5]]", "[5,0]", "[inf,5]", "5,6", "1")),
    "numbers": settings(("experiment.spread",), ("0", "9.1", "wide", "[1]", "null", "nan",
                                                 "true", "1,2")),
    "lists with nothing": settings(("experiment.limits",), ("[]", "[null,0]", "[a]")),
    "unknown": lines("nrep=3", "seeds=1", "experiment.nobs=[5]", "experiment.n_obs.x=3",
                     "n_rep.x=3", "n_rep.x.y=3", "foo.bar=1", "scale.foo=1", "backend.foo=1",
                     "backend.foo.bar=1", "precision.foo=1", "n_obs=[5]",
                     "+experiment.foo=1", "experiment.0=1", "out.x=1", "keep=1", "N_REP=3",
                     "experiment@x=few", "hydra.foo=3", "hydra.run.foo=3", "hydra.mode=foo",
                     "hydra/launcher=foo", "hydra.job.chdir=abc", "hydra=3"),
    "taken away": lines("~backend", "~scale", "~experiment", "~n_rep", "~hydra", "~hydra.run",
                        "~", "~precision.x", "~nope"),
    "flags": [(("-cn", "x"), "'x'"),
              (("-m", "--cfg", "job"), "--cfg"), (("--config-name=x",), "'x'"),
              (("-sc",), "install"), (("--resolve",), "--resolve"), (("-",), "-")],
    "words": [((*words, "experiment=few"), said) for words, said in (
        (("runn",), "'run'"), (("plan", "plan"), "plan"), (("list",), "extra argument"),
        (("new", "a"), "extra argument"), (("replay", "1", "2"), "2"),
        (("apply",), "few"), (("apply", "foo"), "foo"), (("apply", "accuracy"), "accuracy"),
        (("run", "n_rep"), "'n_rep'"), ((" ",), "' '"), (("é",), "é"),
        (("status", "nope=3"), "nope"))],
    "unreadable": lines("experiment.n_obs=[5", "experiment.n_obs={5", "experiment.n_obs=[5]]",
                        "out='a", 'out="a', "n_rep=${", "out=${", "@x=3", "a b=3", "=3", "+=3", "=",
                        "+", "++n_rep", "experiment.n_obs=[5,", "out=[é", "é=3"),
    "references": lines("out=${nope}", "out=${n_rep", "n_rep=${n_rep}", "n_rep=${oc.env:NO_SUCH}",
                        "n_rep=${nope:3}", "experiment.n_obs=[${nope}]", "out=${oc.env:NO_SUCH}/x"),
    "sweeps": [*settings(("n_rep", "seed", "out"), ("1,2", "range(1,5)", "choice(1,2)")),
               (("-m", "n_rep=interval(1,2)"), "INTERVAL"), (("-m", "scale=paper,no"), "no"),
               (("-m", "nrep=1,2"), "n_rep"),
               (("-m", "seed=1,2", "hydra.sweep.dir=/proc/nope"), "/proc/nope"),
               (("-m", f"hydra/launcher={LONG}"), "launcher"),
               (("-m", "hydra/launcher=slurm", "hydra.sweep.dir=/proc/nope"), "/proc/nope"),
               (("-m", "out=é,ö"), "out")],
    "folders": [*lines("out=[a]",
                       "out={a:1}", "out=" + "a" * 300, "out=\udce9",
                       names="out"),
                *lines("out=a_file", "out=a_file/x", "out=/dev/null", "out=/proc/x")],
    "precisions": [*lines("precision=0.1", "precision=[1]", "precision=true", "precision=''"),
                   *settings(("precision.mean_x",), ("0", "-1", "nan", "inf", "abc", "0%", "-2%",
                                                     "null", "[1]", "{a:1}", "1e-400", "true")),
                   *lines("precision.=1", "precision.mean_x.y=1", "precision.mean_y=1")],
    "addresses": [(("replay", address, "experiment=few"), "") for address in (
        "xyz", "1", "/", "3f2a90c1d4e5b678/-1", "", "0000000000000000/3", "3f2a90c1d4e5b678/1e9")],
    "long": [*lines(*(f"{key}={LONG}" for key in LONG_VALUES), f"{LONG}=3", f"experiment.{LONG}=3",
                    names="x" * 40),
             (("new", LONG), "extra argument")],
    "verbs": lines("plan=true", "replay=1/2", names="is not a setting"),
    "together": [(("experiment.n_obs=[5,5]",), "in the grid twice"),
                 (("redraw=nope",), "redraw=nope"),
                 (("n_rep=99999999999999999999",), "most that a run can have")],
}  # fmt: skip
PYTHON = ("Traceback", "<class", "object has no", "NoneType")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A folder with one study, which each command line names unless it names another."""
    folder = tmp_path_factory.mktemp("few")
    write(
        folder,
        {
            "experiments/__init__.py": "",
            "experiments/few.py": STUDY.replace(OPTION, OPTIONS),
            "a_file": "mine",
        },
    )
    with inside(folder):
        yield folder


def contents(folder: Path) -> dict[str, float]:
    """Everything below a folder, with when it changed; Hydra notes each sweep before it begins."""
    paths = (path for path in folder.rglob("*") if "results" not in path.name + path.parent.name)
    return {str(path): path.stat().st_mtime_ns for path in paths if "sweeps" not in path.parts}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_line_that_cannot_be_meant_is_refused_in_one(family, project, capsys):
    wrong = []
    before = contents(project)
    for arguments, names in FAMILIES[family]:
        is_whole = family in ("groups", "words") and "experiment" in arguments[-1]
        asked = [*arguments] if is_whole else [*arguments, "experiment=few"]
        try:
            status = main(asked)
        except BaseException as error:
            status = f"{type(error).__name__}: {error}"
        said = capsys.readouterr()
        is_right = (
            (status, said.out, said.err.count("\n")) == (2, "", 1)
            and 10 < len(said.err) < 3000
            and names in said.err
            and not any(word in said.err for word in PYTHON)
            and contents(project) == before
        )
        if not is_right:
            wrong.append((arguments, status, said.out[-200:], said.err[-300:]))
            before = contents(project)
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("flag", ["-p", "--cfg", "-c", "-mv", f"--{LONG}", "--cfg=nothing"])
def test_a_flag_that_hydra_does_not_know_ends_with_its_usage(flag, project, capsys):
    before = contents(project)
    assert main(["experiment=few", flag]) == 2
    assert "usage: simstudy run" in capsys.readouterr().err
    assert contents(project) == before
