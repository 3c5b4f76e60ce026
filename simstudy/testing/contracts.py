"""The contracts: each is a test that runs for every experiment, some blocks drawn again."""

import dataclasses
import inspect
import json
import os
import pickle
import re
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from simstudy.analysis.result import Result
from simstudy.claims.claim import BROKEN
from simstudy.claims.verdict import DIFFERS, REPRODUCED, UNCHECKABLE, VERDICTS
from simstudy.cli import main
from simstudy.cli.ending import FAILED
from simstudy.cli.project import experiment_names, load_experiment
from simstudy.engine.block import draw_columns
from simstudy.engine.thread_limits import limit_pools, single_threaded
from simstudy.errors import NotHereError
from simstudy.figures.save import save_figure
from simstudy.lazy import pd, special
from simstudy.options import check
from simstudy.store.arrow_schema import ERROR
from simstudy.study import Study
from simstudy.testing import truth
from simstudy.validation import file_name

HEADINGS = ("Aims", "Data", "Estimands", "Methods", "Performance")
MIN_FIGURE_BYTES = 5000  # an empty frame with its title has fewer
COINCIDENCE = 1e-5  # greatest chance of equality for a column to count as evidence

Drawn = Mapping[tuple[str, int], Mapping[str, np.ndarray]]
"""Columns as `simulate` returned them, by scenario key and block."""


def draw(study: Study, places: Sequence[tuple[int, int]], seed: int = 1) -> Drawn:
    """Draw blocks in a given order, each by scenario and block index."""
    plan = study.plan(seed).work_units
    keys = list(plan.keys)
    drawn = {}
    with single_threaded():
        for key, block in ((keys[place], block) for place, block in places):
            columns = draw_columns(plan, plan.keys[key], block)
            if limit_pools():  # a library that was loaded has used several threads
                columns = draw_columns(plan, plan.keys[key], block)
            drawn[key, block] = {name: column for name, column in columns.items() if name != ERROR}
    return drawn


def draw_elsewhere(root: Path, experiment: str) -> dict[str, np.ndarray]:
    """Draw the first block of the last scenario in a new process."""
    paths = os.pathsep.join(map(str, [root, Path(__file__).parents[2], *sys.path]))
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
from simstudy.cli.project import load_experiment
from simstudy.testing.contracts import draw
module = load_experiment(sys.argv[1], Path(sys.argv[2]))
(columns,) = draw(module.study(module.Config()), [(-1, 0)]).values()
sys.stdout.buffer.write({_MARK!r} + pickle.dumps(columns))
"""


def same_bits(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether two columns are equal to the last bit, in type and shape."""
    alike = first.dtype == second.dtype and first.shape == second.shape
    return alike and (
        bool((first == second).all())
        if first.dtype == object
        else first.tobytes() == second.tobytes()
    )


def repeats(block: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> bool:
    """Whether two blocks are equal in all columns that are unlikely to be equal by chance."""
    telling = [name for name, column in block.items() if _coincidence(column) < COINCIDENCE]
    return bool(telling) and all(
        name in other and same_bits(block[name], other[name]) for name in telling
    )


def _coincidence(column: np.ndarray) -> float:
    """The probability that equal replicates come in the same order.

    One over the number of their different orders, n! / (n_1! n_2! ...), where n_i replicates have
    the i-th value: 1 for a column that is constant.
    """
    if not column.ndim:
        return 1.0
    rows = column.reshape(len(column), -1)
    rows = rows.astype(str) if rows.dtype == object else np.ascontiguousarray(rows)
    counts = np.array(list(Counter(row.tobytes() for row in rows).values()))
    return float(np.exp(special.gammaln(counts + 1).sum() - special.gammaln(counts.sum() + 1)))


# ---------------------------------------------------------------- runs
@dataclasses.dataclass(frozen=True)
class Smoke:
    """An experiment run at `scale=smoke`."""

    name: str
    study: Study
    folder: Path
    status: int

    def result(self, n_rep: int) -> Result:
        """The stored result, of at most `n_rep` replicates."""
        return self.study.partial_result(n_rep, out=self.folder.parent)

    @property
    def n_rep(self) -> int:
        """Replicates per scenario of the smoke run."""
        manifest = json.loads((self.folder / "manifest.json").read_text(encoding="utf-8"))
        return int(manifest["replicates_per_scenario"])


def run_at_smoke_scale(root: Path, experiment: str, results: Path) -> int:
    """Run an experiment at smoke scale; returns the exit status."""
    arguments = [f"experiment={experiment}", "scale=smoke", f"out={results}", "progress=false"]
    return main(arguments, script=str(root / "run.py"))


# ---------------------------------------------------------------- figures
def check_drawn_again(result: Result, name: str, published: Path, folder: Path) -> None:
    """Fail if a figure is not the same again."""
    before, again = saved(published, name), drawn_alone(result, name, folder)
    if again != before:  # published with other settings, or not reproducible
        before, again = again, drawn_alone(result, name, folder)
    assert again == before, (
        f"figure {name} differs when drawn again from the same result: a figure must depend "
        "on stored results only. Draw random numbers in simulate, and keep nothing "
        "between figures"
    )


def drawn_alone(result: Result, name: str, folder: Path) -> tuple[bytes, bytes]:
    save_figure(result.figure(name), folder, name)
    return saved(folder, name)


def saved(folder: Path, name: str) -> tuple[bytes, bytes]:
    png, svg = (folder / f"{name}.{ending}" for ending in ("png", "svg"))
    return png.read_bytes(), svg.read_bytes()


# ---------------------------------------------------------------- contracts


class ExperimentContracts:
    """Contract tests; subclass with a name that pytest finds, and set the project's root.

    Attributes
    ----------
    root
        Folder that holds `experiments/`.
    failures_allowed
        Whether replicates may fail, if each failure is recorded. Use False if every replicate of
        every study must succeed.
    protocol_required
        Whether the docstring of each experiment must be a protocol: a question in the first line,
        and the headings Aims, Data, Estimands, Methods and Performance. Otherwise one without them
        is a warning.
    """

    root: ClassVar[Path]
    failures_allowed: ClassVar[bool] = True
    protocol_required: ClassVar[bool] = False

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run every test once for each experiment on disk."""
        if "experiment" in metafunc.fixturenames:
            metafunc.parametrize("experiment", experiment_names(self.root), scope="class")

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _here(cls, experiment: str) -> None:
        """Skip an experiment whose data or libraries are missing."""
        module = load_experiment(experiment, cls.root)
        try:
            module.study(module.Config())
        except NotHereError as error:
            pytest.skip(str(error))

    @pytest.fixture(scope="class")
    @classmethod
    def results(cls, tmp_path_factory: pytest.TempPathFactory) -> Path:
        """The folder for results; a subclass may share one with other tests."""
        return tmp_path_factory.mktemp("results")

    @pytest.fixture(scope="class")
    @classmethod
    def smoke(cls, experiment: str, results: Path) -> Smoke:
        """Run the experiment at smoke scale, once for all contracts."""
        status = run_at_smoke_scale(cls.root, experiment, results)
        module = load_experiment(experiment, cls.root)
        study = module.study(module.Config())
        return Smoke(experiment, study, results / study.name, status)

    @pytest.fixture(scope="class")
    @classmethod
    def drawn(cls, smoke: Smoke) -> Drawn:
        """Draw two blocks of the first and of the last scenario."""
        return draw(smoke.study, [(place, block) for place in (0, -1) for block in (0, 1)])

    # ------------------------------------------------------------ declarations
    def test_its_docstring_is_a_protocol(self, experiment: str) -> None:
        text = inspect.getdoc(load_experiment(experiment, self.root)) or ""
        headings = re.findall(rf"^({'|'.join(HEADINGS)}) {{2,}}\S", text, re.MULTILINE)
        if headings == list(HEADINGS) and text.partition("\n")[0].endswith("?"):
            return
        lacks = (
            f"the docstring of {experiment} is no protocol: write the study's question in its "
            f"first line, and {', '.join(HEADINGS)} at the beginnings of lines, each with two "
            "spaces or more and its text. Reports and protocols show it"
        )
        assert not self.protocol_required, lacks
        warnings.warn(lacks, stacklevel=1)

    def test_its_config_is_built_checked_and_helped(self, experiment: str) -> None:
        config = load_experiment(experiment, self.root).Config
        made = config()
        check(made)
        assert config(**dataclasses.asdict(made)) == made, "a config made of its values differs"
        for declared in dataclasses.fields(config):
            assert declared.metadata.get("help"), (
                f"give {declared.name} its help: option('...', default=...)"
            )

    def test_its_name_is_its_file(self, experiment: str) -> None:
        module = load_experiment(experiment, self.root)
        name = module.study(module.Config()).name
        assert name == experiment, f"the study is named {name!r}: its results would not be found"

    def test_its_scenarios_are_frozen(self, experiment: str) -> None:
        module = load_experiment(experiment, self.root)
        for kind in {type(scenario) for scenario in module.study(module.Config()).scenarios}:
            frozen = kind.__dataclass_params__.frozen
            assert frozen, f"{kind.__name__} can change under a run: @dataclass(frozen=True)"

    # ------------------------------------------------------------ outputs of a run
    def test_it_runs_at_smoke_scale(self, smoke: Smoke) -> None:
        """Failed replicates are recorded, and allowed unless `failures_allowed` is False."""
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
            f"{pd.read_parquet(recorded)['error'].iloc[0]}. Correct what fails, or set "
            "failures_allowed = True if failures are results"
        )

    def test_it_draws_every_figure_that_it_declares(self, smoke: Smoke) -> None:
        manifest = json.loads((smoke.folder / "manifest.json").read_text(encoding="utf-8"))
        assert manifest["figures_not_drawn"] == {}, manifest["figures_not_drawn"]
        for name in smoke.study.figures:
            stem = file_name(name)
            path = smoke.folder / "figures" / stem
            png, svg = (path.with_name(f"{stem}.{kind}").read_bytes() for kind in ("png", "svg"))
            assert png.startswith(b"\x89PNG"), f"{path}.png is not a picture"
            assert b"<svg" in svg[:2000], f"{path}.svg is not a picture"
            assert min(len(png), len(svg)) > MIN_FIGURE_BYTES, f"figure {name} is empty"

    def test_it_makes_every_table_that_it_declares(self, smoke: Smoke) -> None:
        manifest = json.loads((smoke.folder / "manifest.json").read_text(encoding="utf-8"))
        assert manifest["tables_not_made"] == {}, manifest["tables_not_made"]
        for name in smoke.study.tables:
            path = smoke.folder / "tables" / f"{file_name(name)}.csv"
            assert len(pd.read_csv(path)), f"table {name} is empty"

    def test_its_figures_are_drawn_from_what_is_stored(self, smoke: Smoke, tmp_path: Path) -> None:
        """Restyling a figure gives the same bytes."""
        result = smoke.result(smoke.n_rep)
        for name in smoke.study.figures:
            check_drawn_again(result, name, smoke.folder / "figures", tmp_path)

    def test_every_number_has_its_error_or_a_reason(self, smoke: Smoke) -> None:
        summary = pd.read_parquet(smoke.folder / "summary.parquet")
        bare = ~np.isfinite(summary["mcse"]) & (summary["reason"] == "")
        assert len(summary), "the summary is empty: give the study measures"
        assert not bare.any(), f"without a Monte Carlo error, and no reason:\n{summary[bare]}"

    def test_every_claim_has_a_verdict(self, smoke: Smoke) -> None:
        claims = pd.read_parquet(smoke.folder / "claims.parquet")
        declared = [claim.name for claim in smoke.study.claims]
        assert list(claims["claim"]) == declared, "the table lacks claims of the study"
        assert claims["claim"].is_unique, f"two claims have one name: {declared}"
        broken = claims["detail"][claims["detail"].str.contains(BROKEN)]
        assert broken.empty, (
            f"{len(broken)} claims raise an error: {list(broken)}. If a run has no data for a "
            "claim, raise LookupError"
        )
        assert set(claims["verdict"]) <= set(VERDICTS), set(claims["verdict"])

    def test_every_claim_can_fall(self, smoke: Smoke) -> None:
        """A plausible wrong value is rejected, or undecided with few replicates.

        At published sizes it must be rejected, which the published table of claims shows.
        """
        claims = pd.read_parquet(smoke.folder / "claims.parquet")
        tried = {claim.name: claim for claim in smoke.study.claims}
        for row in claims.to_dict("records"):
            claim, name = tried[row["claim"]], row["claim"]
            if claim.wrong_value is None:
                assert claim.expected in (DIFFERS, UNCHECKABLE), (
                    f"the claim {name!r} has no wrong_value=, so it might hold whatever the "
                    "results are: give it a plausible wrong value that it rejects"
                )
                continue
            verdict = row["rival"].removeprefix(claim.wrong_value.name)
            assert BROKEN not in verdict, f"the wrong value of {name!r} raises: {row['rival']}"
            assert f": {REPRODUCED}" not in verdict, (
                f"the claim {name!r} holds for its wrong value too, so it tests nothing: "
                f"{row['rival']}"
            )

    def test_the_second_run_finds_nothing_to_do(
        self, smoke: Smoke, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run_at_smoke_scale(self.root, smoke.name, smoke.folder.parent) == smoke.status
        output = capsys.readouterr().out
        assert "nothing to do" in output, f"a second run did something again:\n{output}"

    # ------------------------------------------------------------ blocks
    def test_a_block_is_the_same_whenever_it_is_drawn(self, smoke: Smoke, drawn: Drawn) -> None:
        again = draw(smoke.study, [(place, block) for place in (-1, 0) for block in (1, 0)])
        for address, columns in drawn.items():
            for name, column in columns.items():
                assert same_bits(column, again[address][name]), (
                    f"{name} of block {address[1]} in scenario {address[0]} differs when drawn "
                    "again, in another order: simulate may use no random numbers but those of "
                    "streams(purpose), and may keep nothing between blocks"
                )

    def test_its_blocks_differ(self, smoke: Smoke, drawn: Drawn) -> None:
        """Another block or another seed gives other numbers."""
        seeded = draw(smoke.study, [(place, 0) for place in (0, -1)], seed=2)
        for (scenario, block), columns in drawn.items():
            others = {"block 1": drawn[scenario, 1], "block 0 of seed 2": seeded[scenario, 0]}
            for which, other in others.items() if block == 0 else ():
                assert not repeats(columns, other), (
                    f"block 0 and {which} of scenario {scenario} are the same in every column, so "
                    "a longer run only repeats the same replicates: simulate must draw from "
                    "streams(purpose), not from a generator with a seed of its own"
                )

    def test_a_fresh_process_draws_the_same(self, smoke: Smoke, drawn: Drawn) -> None:
        """The first block of the last scenario is the same in a new process."""
        key, block = next(address for address in reversed(list(drawn)) if address[1] == 0)
        alone = draw_elsewhere(self.root, smoke.name)
        for name, column in drawn[key, block].items():
            assert same_bits(column, alone[name]), (
                f"{name} of block 0 in scenario {key} differs in a new process: simulate may "
                "depend on its scenario and its streams only, not on what was drawn before, on "
                "the process or on the clock"
            )

    def test_the_first_replicates_of_a_long_run_are_the_short_run(self, smoke: Smoke) -> None:
        """Checked for the first and the last scenario, with a run that ends in the second block."""
        short, study = smoke.result(smoke.n_rep), smoke.study
        ends = [study.scenarios[place] for place in {0, len(study.scenarios) - 1}]
        longer = dataclasses.replace(study, scenarios=ends)
        n_long = study.block_size + 1
        long = longer.run(n_long, backend="inline", n_jobs=1)
        for scenario in ends:
            rows, stored = long.rows(scenario), short.rows(scenario)
            head = rows[rows["rep"] < smoke.n_rep].reset_index(drop=True)
            stored = stored[stored["rep"] < n_long]
            # Columns of other scenarios are empty here.
            stored = stored[[name for name in stored if name in head or stored[name].notna().any()]]
            later = head.columns.difference(stored.columns)  # from later failures
            assert head[later].isna().all(axis=None), f"the short run has no {list(later)}"
            head = head[list(stored)].astype(stored.dtypes)  # NaN turns flags into numbers
            pd.testing.assert_frame_equal(head, stored, check_exact=True)

    # ------------------------------------------------------------ theory
    def test_its_exact_values_are_kept(self, smoke: Smoke) -> None:
        """Values of `exact()` agree with the estimates within Monte Carlo error."""
        study = smoke.study
        only_nan = sorted(truth.without_theory(study))
        assert not only_nan, (
            f"exact() of {smoke.name} has only NaN for {', '.join(only_nan)} in all scenarios, so "
            "nothing is compared with it. Return known values, or leave it out"
        )
        result = truth.enough_for_truth(study, smoke.result(smoke.n_rep))
        held = list(truth.comparisons(result))
        measures = [measure.name for measure in smoke.study.measures]
        names = [name for name in measures if name in {each.measure for each in held}]
        others = ", ".join(name for name in measures if name not in names) or "none"
        if not held:
            pytest.skip(f"exact() gives no value that could be compared: {others}")
        print(f"{smoke.name}: {len(held)} values of {', '.join(names)} compared; others: {others}")
        limit = truth.FALSE_ALARM / len(held)
        worst = min(held, key=lambda comparison: comparison.p_value)
        off = sum(comparison.p_value < limit for comparison in held)
        assert not off, (
            f"{off} of {len(held)} values differ from exact() by more than chance; the largest "
            f"difference: {worst.measure} of {worst.scenario} is {worst.estimate:.6g} (MCSE "
            f"{worst.mcse:.2g}), but exact() returns {worst.exact:.6g}. Check exact() and simulate."
        )
