"""Contracts that every experiment of a project keeps; a user's test file is one class.

    from pathlib import Path
    from simstudy.testing import ExperimentContracts

    class TestContracts(ExperimentContracts):
        root = Path(__file__).parents[1]

Every experiment in `root` is run once, at smoke scale, into a temporary folder. `exact()` is held
against up to 100 blocks of each study.

An experiment whose data or libraries are not on this machine (it raises `NotHereError`) is skipped.

What the contracts cannot see: columns that depend on the number of replicates asked for, or that
are centred across the replicates of a block. `simulate` always gets `block_size`, and a block is
part of the study's identity, so such rows are the same in every run and still not independent.
"""

import dataclasses
import functools
import inspect
import json
import os
import pickle
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from unittest import mock

import numpy as np
import pytest

from simstudy.analysis.result import Result
from simstudy.claims import BROKEN
from simstudy.cli import main
from simstudy.cli.endings import FAILED
from simstudy.cli.experiments import experiment_names, load_experiment
from simstudy.data.readers import reader_of
from simstudy.data.reads import watching
from simstudy.engine.block import simulate_columns
from simstudy.engine.threads import drawn_with_one_thread, one_thread_each
from simstudy.engine.workers import Workers
from simstudy.errors import NotHereError
from simstudy.figures.save import save_figure
from simstudy.identity.names import identity
from simstudy.identity.streams import Streams
from simstudy.lazy.pandas import pd
from simstudy.measures import Measure
from simstudy.options import check
from simstudy.store.columns import CONVERGED, imputed
from simstudy.store.layout import ERROR
from simstudy.study import Study

HEADINGS = ("Aims", "Data", "Estimands", "Methods", "Performance")
FALSE_ALARM = 1e-5  # chance that a study whose exact() is right is refused, all values together
TRUTH_BLOCKS = 100  # of all scenarios together: what theory is held against, at most
SMALLEST_FIGURE = 5000  # bytes: an empty frame with its title has fewer

Drawn = Mapping[tuple[str, int], Mapping[str, np.ndarray]]
"""Columns as `simulate` returned them, by scenario key and block."""


@dataclasses.dataclass(frozen=True)
class Smoke:
    """An experiment after `scale=smoke`: what it declares, and what came of it."""

    name: str
    module: Any
    study: Study
    folder: Path
    status: int

    def result(self, n_rep: int) -> Result:
        """What is stored of each scenario, of at most so many replicates; nothing is drawn."""
        return self.study.look(n_rep, out=self.folder.parent)

    @property
    def n_rep(self) -> int:
        """Replicates in each scenario of the smoke run."""
        manifest = json.loads((self.folder / "manifest.json").read_text())
        return int(manifest["replicates_per_scenario"])


class ExperimentContracts:
    """Subclass with a name that pytest finds, and say where the project is.

    Attributes
    ----------
    root
        The folder that holds `experiments/`.
    failures_allowed
        Whether replicates may fail, as long as each is recorded: failures are data. False where
        every replicate of every study has to succeed.
    """

    root: ClassVar[Path]
    failures_allowed: ClassVar[bool] = True

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Have every test run once for each experiment on disk."""
        if "experiment" in metafunc.fixturenames:
            metafunc.parametrize("experiment", experiment_names(self.root), scope="class")

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _here(cls, experiment: str) -> None:
        """Skip, with its reason, an experiment whose data or libraries this machine has not."""
        module = load_experiment(experiment, cls.root)
        try:
            module.study(module.Config())
        except NotHereError as error:
            pytest.skip(str(error))

    @pytest.fixture(scope="class")
    @classmethod
    def results(cls, tmp_path_factory: pytest.TempPathFactory) -> Path:
        """Folder for the results; a subclass may give one that other tests share."""
        return tmp_path_factory.mktemp("results")

    @pytest.fixture(scope="class")
    @classmethod
    def smoke(cls, experiment: str, results: Path) -> Smoke:
        """The experiment, run once for all of its contracts."""
        status = run_at_smoke_scale(cls.root, experiment, results)
        module = load_experiment(experiment, cls.root)
        study = module.study(module.Config())
        return Smoke(experiment, module, study, results / study.name, status)

    @pytest.fixture(scope="class")
    @classmethod
    def drawn(cls, smoke: Smoke) -> Drawn:
        """Two blocks of the first and of the last scenario."""
        return draw(smoke.study, [(place, block) for place in (0, -1) for block in (0, 1)])

    # ------------------------------------------------------------ what is declared
    def test_its_docstring_is_a_protocol(self, experiment: str) -> None:
        text = inspect.getdoc(load_experiment(experiment, self.root)) or ""
        found = re.findall(rf"^({'|'.join(HEADINGS)}) {{2,}}\S", text, re.MULTILINE)
        assert found == list(HEADINGS), (
            f"the docstring of {experiment} has the headings {found}: write {', '.join(HEADINGS)} "
            "at the beginnings of lines, each with two spaces or more and its text"
        )
        first = text.splitlines()[0]
        assert first.endswith("?"), f"the first line asks the study's question; found: {first}"

    def test_its_config_is_built_checked_and_helped(self, experiment: str) -> None:
        config = load_experiment(experiment, self.root).Config
        made = config()
        check(made)
        assert config(**dataclasses.asdict(made)) == made, "a config made of its values is another"
        for declared in dataclasses.fields(config):
            about = declared.metadata.get("option")
            assert about, f"give {declared.name} its help: option('...', default=...)"
            assert about.help, f"the help of {declared.name} is empty"

    def test_its_name_is_its_file(self, experiment: str) -> None:
        module = load_experiment(experiment, self.root)
        name = module.study(module.Config()).name
        assert name == experiment, f"the study is named {name!r}: its results would not be found"

    def test_its_scenarios_are_frozen(self, experiment: str) -> None:
        module = load_experiment(experiment, self.root)
        for kind in {type(scenario) for scenario in module.study(module.Config()).scenarios}:
            frozen = kind.__dataclass_params__.frozen
            assert frozen, f"{kind.__name__} can change under a run: @dataclass(frozen=True)"

    # ------------------------------------------------------------ what a run writes
    def test_it_runs_at_smoke_scale(self, smoke: Smoke) -> None:
        """To the end: replicates that fail are recorded, and allowed unless the class says no."""
        assert (smoke.folder / "manifest.json").exists(), (
            f"{smoke.folder} has no manifest; the run ended with status {smoke.status}"
        )
        recorded = smoke.folder / "failures.parquet"
        if not recorded.exists():
            assert smoke.status == 0, f"{smoke.name} ended with status {smoke.status}"
            return
        assert smoke.status == FAILED, f"failures are recorded, and the status is {smoke.status}"
        assert self.failures_allowed, (
            f"replicates of {smoke.name} failed, the first with: "
            f"{pd.read_parquet(recorded)['error'].iloc[0]}. Mend what fails, or set "
            "failures_allowed = True where failures are results"
        )

    def test_it_draws_every_figure_that_it_declares(self, smoke: Smoke) -> None:
        manifest = json.loads((smoke.folder / "manifest.json").read_text())
        assert manifest["figures_not_drawn"] == {}, manifest["figures_not_drawn"]
        for name in smoke.study.figures:
            path = smoke.folder / "figures" / name
            png, svg = (path.with_name(f"{name}.{kind}").read_bytes() for kind in ("png", "svg"))
            assert png.startswith(b"\x89PNG"), f"{path}.png is no picture"
            assert b"<svg" in svg[:2000], f"{path}.svg is no picture"
            assert min(len(png), len(svg)) > SMALLEST_FIGURE, f"figure {name} is empty"

    def test_its_figures_are_drawn_from_what_is_stored(self, smoke: Smoke, tmp_path: Path) -> None:
        """Restyling a figure draws no replicate, reads nothing else, and gives the same bytes."""
        result = smoke.result(smoke.n_rep)
        for name in smoke.study.figures:
            before = _saved(smoke.folder / "figures", name)
            again = _drawn_alone(result, name, tmp_path)
            if again != before:  # of other settings, or of a figure that is never the same
                before, again = again, _drawn_alone(result, name, tmp_path)
            assert again == before, (
                f"figure {name} is another when drawn again from the same result: a figure is a "
                "function of what is stored. Draw random numbers in simulate, and keep nothing "
                "between figures"
            )

    def test_every_number_has_its_error_or_a_reason(self, smoke: Smoke) -> None:
        summary = pd.read_parquet(smoke.folder / "summary.parquet")
        bare = ~np.isfinite(summary["mcse"]) & (summary["reason"] == "")
        assert len(summary), "the summary is empty: give the study measures"
        assert not bare.any(), f"without a Monte Carlo error, and no reason:\n{summary[bare]}"

    def test_every_claim_has_a_verdict(self, smoke: Smoke) -> None:
        claims = pd.read_parquet(smoke.folder / "claims.parquet")
        declared = [claim.name for claim in smoke.study.claims]
        assert list(claims["claim"]) == declared, "the table of claims has others than the study"
        assert claims["claim"].is_unique, f"two claims have one name: {declared}"
        broken = claims["detail"][claims["detail"].str.startswith(BROKEN)]
        assert broken.empty, (
            f"{len(broken)} claims raise, so nothing is held against what is published: "
            f"{list(broken)}. Where a run has no data for a claim, raise LookupError"
        )
        verdicts = set(claims["verdict"])
        assert verdicts <= {"reproduced", "differs", "no data"}, verdicts

    def test_the_second_run_finds_nothing_to_do(
        self, smoke: Smoke, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run_at_smoke_scale(self.root, smoke.name, smoke.folder.parent) == smoke.status
        said = capsys.readouterr().out
        assert "nothing to do" in said, f"a second run did something again:\n{said}"

    # ------------------------------------------------------------ what is drawn
    def test_a_block_is_the_same_whenever_it_is_drawn(self, smoke: Smoke, drawn: Drawn) -> None:
        again = draw(smoke.study, [(place, block) for place in (-1, 0) for block in (1, 0)])
        for address, columns in drawn.items():
            for name, column in columns.items():
                assert same_bits(column, again[address][name]), (
                    f"{name} of block {address[1]} in scenario {address[0]} is another when drawn "
                    "again, in another order: simulate may use no random numbers but those of "
                    "streams(purpose), and may keep nothing between blocks"
                )

    def test_its_blocks_differ(self, smoke: Smoke, drawn: Drawn) -> None:
        """Another block, or another seed, gives other numbers."""
        seeded = draw(smoke.study, [(place, 0) for place in (0, -1)], seed=2)
        for (scenario, block), columns in drawn.items():
            others = {"block 1": drawn[scenario, 1], "block 0 of seed 2": seeded[scenario, 0]}
            for which, other in others.items() if block == 0 else ():
                assert not repeats(columns, other), (
                    f"block 0 and {which} of scenario {scenario} are the same in every column, so "
                    "a longer run only counts the same replicates again: simulate must draw from "
                    "streams(purpose), not from a generator with a seed of its own"
                )

    def test_a_fresh_process_draws_the_same(self, smoke: Smoke, drawn: Drawn) -> None:
        """The last scenario's first block, alone in a process that has drawn nothing before."""
        key, block = next(address for address in reversed(list(drawn)) if address[1] == 0)
        alone = draw_elsewhere(self.root, smoke.name)
        for name, column in drawn[key, block].items():
            assert same_bits(column, alone[name]), (
                f"{name} of block 0 in scenario {key} is another in a process of its own: simulate "
                "may depend on nothing but its scenario and its streams, neither on what was drawn "
                "before it nor on the process or the clock"
            )

    def test_the_first_replicates_of_a_long_run_are_the_short_run(self, smoke: Smoke) -> None:
        short, study = smoke.result(smoke.n_rep), smoke.study
        ends = list(
            {id(study.scenarios[place]): study.scenarios[place] for place in (-1, 0)}.values()
        )
        longer = dataclasses.replace(study, scenarios=ends)
        long = longer.run(smoke.n_rep + study.block_size, workers=Workers("inline", 1))
        for scenario in ends:
            rows = long.rows(scenario)
            head = rows[rows["rep"] < smoke.n_rep].reset_index(drop=True)
            stored = short.rows(scenario)
            later = head.columns.difference(stored.columns)  # of failures that come later
            assert head[later].isna().all(axis=None), f"the short run has no {list(later)}"
            head = head[list(stored)].astype(stored.dtypes)  # later failures make flags numbers
            pd.testing.assert_frame_equal(head, stored, check_exact=True)

    def test_its_columns_have_one_shape(self, smoke: Smoke, drawn: Drawn) -> None:
        """The same columns in every block of a scenario, of one kind and shape everywhere."""
        study = smoke.study
        shapes = [tuple(len(labels) for labels in study.axes.values()), ()]
        names: dict[str, set[str]] = {}
        kinds: dict[str, str] = {}
        for (scenario, _), columns in drawn.items():
            others = names.setdefault(scenario, set(columns))
            assert others == set(columns), f"one block has columns {others}, another {set(columns)}"
            for name, column in columns.items():
                kind = kinds.setdefault(name, column.dtype.kind)
                assert column.dtype.kind == kind, f"{name} is of kind {kind!r} in another block"
                if column.ndim:
                    shape = column.shape[1:-1] if name in study.vectors else column.shape[1:]
                    assert column.shape[0] == study.block_size, f"{name}: {column.shape}"
                    assert shape in shapes, f"{name}: {column.shape}, axes {shapes[0]}"
        everywhere = set.intersection(*names.values()) | set(study.derived)
        for measure in study.measures:
            lacking = set(measure.reads) - everywhere - {CONVERGED}
            assert not lacking, f"{measure.name} reads {lacking}, which simulate does not return"

    # ------------------------------------------------------------ what is true
    def test_its_exact_values_are_kept(self, smoke: Smoke) -> None:
        """What `exact()` declares is no further from the estimate than chance explains."""
        study = smoke.study
        speechless = sorted(without_theory(study))
        assert not speechless, (
            f"exact() of {smoke.name} gives {', '.join(speechless)}, and only NaN in all "
            "scenarios, so nothing is held against it. State what is known, or leave it out"
        )
        held = list(comparisons(enough_for_truth(smoke), study))
        measures = [measure.name for measure in smoke.study.measures]
        names = [
            name for name in measures if any(comparison.measure == name for comparison in held)
        ]
        others = ", ".join(name for name in measures if name not in names) or "none"
        if not held:
            pytest.skip(f"exact() gives no value that could be held against: {others}")
        print(f"{smoke.name}: {len(held)} values of {', '.join(names)} held; not held: {others}")
        limit = FALSE_ALARM / len(held)
        for name in names:
            print(f"{name}: {_caught_in_words(name, held, limit)}")
        worst = min(held, key=lambda comparison: comparison.p_value)
        off = sum(comparison.p_value < limit for comparison in held)
        assert not off, (
            f"{off} of {len(held)} values are further from exact() than chance explains; the "
            f"furthest: {worst.measure} of {worst.scenario} is {worst.estimate:.6g} (MCSE "
            f"{worst.mcse:.2g}) and exact() says {worst.exact:.6g}. Suspect exact(), or simulate."
        )


# ---------------------------------------------------------------- doing what is to be tested
def run_at_smoke_scale(root: Path, experiment: str, results: Path) -> int:
    """The exit status of the command that a user would type."""
    asked = [f"experiment={experiment}", "scale=smoke", f"out={results}", "progress=false"]
    return main(asked, script=str(root / "run.py"))


def draw(study: Study, places: Sequence[tuple[int, int]], seed: int = 1) -> Drawn:
    """Blocks drawn in this order, each a place among the scenarios and a number."""
    plan = study.plan(seed).drawn
    keys = list(plan.keys)
    columns = {}
    with one_thread_each():
        for place, block in places:
            scenario = plan.keys[keys[place]]
            drawing = functools.partial(simulate_columns, plan, scenario, block)
            columns[keys[place], block] = drawn_with_one_thread(drawing)
    return {address: _without_errors(found) for address, found in columns.items()}


def _without_errors(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The columns that `simulate` returned itself."""
    return {name: column for name, column in columns.items() if name != ERROR}


def draw_elsewhere(root: Path, experiment: str) -> dict[str, np.ndarray]:
    """The first block of the last scenario, drawn in a new process."""
    paths = os.pathsep.join(map(str, [root, Path(__file__).parents[1], *sys.path]))
    made = subprocess.run(
        [sys.executable, "-c", _ELSEWHERE, experiment, str(root)],
        env=os.environ | {"PYTHONPATH": paths}, cwd=root, capture_output=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr.decode(errors="replace")
    columns: dict[str, np.ndarray] = pickle.loads(made.stdout.rpartition(_MARK)[2])
    return columns


_MARK = b"columns of a block:"
_ELSEWHERE = f"""
import pickle, sys
from pathlib import Path
from simstudy.cli.experiments import load_experiment
from simstudy.testing import draw
module = load_experiment(sys.argv[1], Path(sys.argv[2]))
(columns,) = draw(module.study(module.Config()), [(-1, 0)]).values()
sys.stdout.buffer.write({_MARK!r} + pickle.dumps(columns))
"""


def same_bits(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether two columns are the same to the last bit, with their type and shape."""
    alike = first.dtype == second.dtype and first.shape == second.shape
    return alike and (
        bool((first == second).all())
        if first.dtype == object
        else first.tobytes() == second.tobytes()
    )


def repeats(block: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> bool:
    """Whether two blocks are the same in all that varies, and chance does not explain it."""
    telling = [name for name, column in block.items() if _coincidence(column) < FALSE_ALARM]
    return bool(telling) and all(
        name in other and same_bits(block[name], other[name]) for name in telling
    )


def _coincidence(column: np.ndarray) -> float:
    """Chance that a block with the same replicates has them in the same order.

    One over the number of their different orders, n! / (n_1! n_2! ...), where n_i replicates have
    the i-th value: 1 for a column that is constant.
    """
    from scipy.special import gammaln

    if not column.ndim:
        return 1.0
    counts = np.array(list(Counter(row.tobytes() for row in _as_text(column)).values()))
    return float(np.exp(gammaln(counts + 1).sum() - gammaln(counts.sum() + 1)))


def _as_text(column: np.ndarray) -> np.ndarray:
    """A row of comparable bytes for each replicate: an object has those of its text."""
    rows = column.reshape(len(column), -1)
    return rows.astype(str) if rows.dtype == object else np.ascontiguousarray(rows)


# ---------------------------------------------------------------- figures, and nothing else
class DrawsReplicatesError(BaseException):
    """Raised in a figure that simulates; no `except Exception` of the figure's own holds it."""


_listed_by: list[list[str]] = []  # folders that the project's code lists, while somebody watches


def _note_listing(event: str, arguments: tuple[Any, ...]) -> None:
    if _listed_by and event in ("os.listdir", "os.scandir") and reader_of(sys._getframe(1)):
        _listed_by[-1].append(os.path.abspath(os.fsdecode(arguments[0] or ".")))


@functools.cache
def _install_listing() -> None:
    """Once: an audit hook cannot be taken away."""
    sys.addaudithook(_note_listing)


def _drawn_alone(result: Result, name: str, folder: Path) -> tuple[bytes, bytes]:
    """A figure's files, drawn where nothing but the result may be used."""
    with _only_what_is_stored(name, {type(each) for each in result.plan.scenarios}):
        save_figure(result.figure(name), folder, name)
    return _saved(folder, name)


def _saved(folder: Path, name: str) -> tuple[bytes, bytes]:
    png, svg = (folder / f"{name}.{ending}" for ending in ("png", "svg"))
    return png.read_bytes(), svg.read_bytes()


@contextmanager
def _only_what_is_stored(figure: str, kinds: set[type]) -> Iterator[None]:
    """Refuse to simulate, to run, and to read; also where the figure swallows the error.

    What is read in C without a word to Python (by pyarrow, say) is not seen.
    """
    drawing: list[str] = []
    listed: list[str] = []
    refused = [
        *((kind, "draw" if hasattr(kind, "draw") else "simulate") for kind in kinds),
        (Study, "run"),
        (Streams, "__call__"),
    ]
    _install_listing()
    with ExitStack() as patches, watching() as read:
        for kind, method in refused:
            refusing = functools.partial(_refuse_drawing, drawing, f"{kind.__name__}.{method}")
            patches.enter_context(mock.patch.object(kind, method, refusing))
        _listed_by.append(listed)
        patches.callback(_listed_by.remove, listed)
        with suppress(DrawsReplicatesError):  # it is noted, and said below
            yield
    assert not drawing, (
        f"figure {figure} draws replicates again, by {drawing[0]}: a figure is a function of what "
        "is stored. Return what it needs as columns of simulate"
    )
    assert not read, (
        f"figure {figure} reads {read[0]}, which is no part of the result: its pictures would "
        "change with that file, unnoticed. Return what it needs as columns of simulate"
    )
    assert not listed, (
        f"figure {figure} lists the folder {listed[0]}: its pictures would change with what lies "
        "there, unnoticed. Use nothing but the result"
    )


def _refuse_drawing(noted: list[str], what: str, *_: object, **__: object) -> None:
    noted.append(what)
    raise DrawsReplicatesError(what)


# ---------------------------------------------------------------- truth
class Comparison(NamedTuple):
    """An estimate beside what theory says, and how often chance puts them so far apart."""

    measure: str
    scenario: str
    estimate: float
    mcse: float
    exact: float
    p_value: float


def enough_for_truth(smoke: Smoke) -> Result:
    """Replicates to hold theory against: as many as are published, within `TRUTH_BLOCKS`.

    All scenarios together get at most so many blocks, but each what the smoke run drew of it, so
    the effort is bounded and no number depends on a clock.
    """
    study = smoke.study
    published = -(-study.n_rep // study.block_size)
    n_blocks = min(published, TRUTH_BLOCKS // len(study.scenarios))
    if n_blocks < 2 or not any(hasattr(each, "exact") for each in study.scenarios):
        return smoke.result(study.block_size)
    return study.run(n_blocks * study.block_size, workers=Workers("inline", 1))


def without_theory(study: Study) -> set[str]:
    """Measures of which `exact()` speaks, and says NaN in every cell of every scenario."""
    known: dict[str, bool] = {}
    for scenario in study.scenarios:
        for name, value in (scenario.exact() if hasattr(scenario, "exact") else {}).items():
            known[name] = known.get(name, False) or bool(np.isfinite(value).any())
    return {measure.name for measure in study.measures if not known.get(measure.name, True)}


def _caught_in_words(name: str, held: Sequence[Comparison], limit: float) -> str:
    """The error of `exact()` that would be refused in half of all runs, by a normal law."""
    from scipy.special import ndtri

    sizes = [
        (-ndtri(limit / 2) * each.mcse, abs(each.exact))
        for each in held
        if each.measure == name and each.mcse > 0
    ]
    if not sizes:
        return "no error of its own; any difference is refused"
    size, exact = min(sizes)
    relative = f", {size / exact:.1%} of it" if exact else ""
    return f"exact() that is off by {size:.2g}{relative} would be caught in half of all runs"


def comparisons(result: Result, study: Study) -> Iterator[Comparison]:
    """Every value that `exact()` of a scenario declares and an estimate can be held against."""
    for scenario in result.plan.scenarios:
        declared = scenario.exact() if hasattr(scenario, "exact") else {}
        for measure in study.measures:
            if measure.name in declared:
                columns = imputed(result.columns(scenario, *measure.reads), study.worst)
                yield from _compared(measure, columns, declared[measure.name], identity(scenario))


def _compared(
    measure: Measure, columns: Mapping[str, np.ndarray], exact: Any, scenario: str
) -> Iterator[Comparison]:
    estimates, influence = measure.estimate(columns), measure.influence(columns)
    chances = _chance_of_proportion if measure.bounds == "wilson" else _chance_of_mean
    cells = np.broadcast_arrays(
        estimates.estimate, estimates.mcse, exact, influence.trials, estimates.n_rep
    )
    for estimate, mcse, truth, trials, n_rep in zip(*map(np.ravel, cells), strict=True):
        p_value = chances(float(estimate), float(mcse), float(truth), float(trials), int(n_rep))
        if np.isfinite(p_value):
            yield Comparison(measure.name, scenario, estimate, mcse, truth, p_value)


def _chance_of_proportion(
    estimate: float, _mcse: float, exact: float, trials: float, _n_rep: int
) -> float:
    """Two-sided binomial probability of so many successes or more, given the trials."""
    from scipy.stats import binom

    if not (np.isfinite(estimate) and np.isfinite(exact)):
        return np.nan
    successes, n = round(estimate * trials), round(trials)
    tails = binom.cdf(successes, n, exact), binom.sf(successes - 1, n, exact)
    return min(1.0, 2 * float(min(tails)))


def _chance_of_mean(
    estimate: float, mcse: float, exact: float, _trials: float, n_rep: int
) -> float:
    """Two-sided probability under Student's t, since the MCSE is an estimate too."""
    from scipy.stats import t

    if not (np.isfinite(mcse) and np.isfinite(exact)):
        return np.nan
    rounding = n_rep * np.finfo(float).eps * max(abs(exact), abs(estimate))
    away = max(0.0, abs(estimate - exact) - rounding)
    return 2 * float(t.sf(away / mcse, n_rep - 1)) if mcse else float(away == 0)
