"""Answers of all methods: text, dict, figure and files; plans are read again from their file.

An answer quotes how well its method did in the published studies of this project. Each row of
`evidence.csv` is a row of a study's published summary (`results/STUDY/summary.parquet`); the tests
compare all of them with it.
"""

from __future__ import annotations

import csv
import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

import simstudy
from simstudy.documents.applied.tables import Source
from simstudy.errors import ConfigError
from simstudy.lazy import ggplot, p9, pd
from simstudy.places import Place, place_of, read_json, write_bytes, write_json
from simstudy.store.files import translate_io_errors
from simstudy.tables.table import as_csv

if TYPE_CHECKING:
    import jinja2

WIDTH = 14  # characters of the row names on the left
FORMAT = 1  # format of the JSON file; raised when its fields change
EVIDENCE = Path(__file__).with_name("evidence.csv")
APART = ("source", "settings")  # fields that stand beside the answer in the JSON file


@dataclass(frozen=True, repr=False)
class Answer:
    """The answer of a method; prints as a short report.

    Parameters
    ----------
    source
        Name and SHA-256 of the file, or of the arrays, that the answer comes from.
    settings
        The settings that were in force, by name.
    notes
        Warnings and choices that a reader has to know.
    """

    method: ClassVar[str] = ""
    source: Source | None = field(default=None, kw_only=True)
    settings: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def figure(self) -> ggplot | None:
        """Draw the figure that belongs to the answer; None for an answer without one.

        Returns
        -------
        ggplot
            The figure; None where there is none.
        """
        return None

    @property
    def text(self) -> str:
        """The report, about ten lines, from the template `texts/METHOD.txt`."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        lines = _templates().get_template(f"{self.method}.txt").render(**values, a=self)
        headline, *rest = filter(None, map(str.strip, lines.splitlines()))
        rows = [line.partition("|")[::2] for line in rest] + [("note", note) for note in self.notes]
        kept = (f"{name.strip():{WIDTH}}{text.strip()}" for name, text in rows if text.strip())
        return "\n".join([headline, *kept])

    def __repr__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers and words by name, as JSON can hold them; None for what is unknown.

        Returns
        -------
        dict
            Values by name of the field.
        """
        own = (each.name for each in fields(self) if each.compare)
        return {name: plain(getattr(self, name)) for name in own if name not in APART}

    def content(self) -> dict[str, Any]:
        """Return the content of the JSON file: the answer with its method, file and versions.

        Returns
        -------
        dict
            Values that JSON can hold.
        """
        from simstudy.output.manifest import environment

        return {
            "method": self.method,
            "format": FORMAT,
            "simstudy": simstudy.__version__,
            "answer": self.to_dict(),
            "file": None if self.source is None else self.source._asdict(),
            "settings": plain({k: v for k, v in self.settings.items() if k != "out"}),
            "made_with": environment(),
        }

    def table(self) -> pd.DataFrame:
        """Return the answer as a table of one row.

        Returns
        -------
        DataFrame
            The table that is written.
        """
        cells = self.to_dict().items()
        return pd.DataFrame([{k: str(v) if isinstance(v, list) else v for k, v in cells}])

    def write(self, out: str) -> Place:
        """Write the JSON to `out`, or into a folder with text, table and figure.

        Parameters
        ----------
        out
            A file that ends in .json, or a folder: `answer.json` is written last.

        Returns
        -------
        Path
            The file or the folder.

        Raises
        ------
        StoreError
            If it cannot be written.
        """
        from simstudy.figures import save_figure

        place = place_of(out)
        is_file = place.suffix == ".json"
        with translate_io_errors(place.parent if is_file else place):
            if not is_file:
                write_bytes(place / "answer.txt", f"{self.text}\n".encode())
                write_bytes(place / "answer.csv", as_csv(self.table()).encode())
                write_bytes(place / "answer.parquet", self.table().to_parquet(index=False))
                if (figure := self.figure()) is not None:
                    save_figure(figure, place, "answer")
            write_json(place if is_file else place / "answer.json", self.content())
        return place

    @classmethod
    def read(cls, path: str) -> Self:
        """Read an answer, such as a plan, from the JSON file that `write` wrote.

        Parameters
        ----------
        path
            A path or a URL.

        Returns
        -------
        Answer
            Equal to the one that was written.

        Raises
        ------
        ConfigError
            If the file is not there, holds another answer, or was written in another format.
        """
        again = f"simstudy apply {cls.method} FILE out=NAME.json"
        content = read_json(place_of(path))
        if content is None or "method" not in content:
            raise ConfigError(f"{path} is not there, or holds no plan. Write one with {again}")
        if content["method"] != cls.method:
            raise ConfigError(
                f"{path} is the answer of `{content['method']}`, and a plan of `{cls.method}` is "
                f"needed. Write one with {again}"
            )
        values, source = content.get("answer") or {}, content.get("file")
        known = {each.name for each in fields(cls)}
        if content.get("format") != FORMAT or not set(values) <= known:
            raise ConfigError(
                f"{path} was written by simstudy {content.get('simstudy')} in a format that "
                f"{simstudy.__version__} cannot read. Write it again with {again}"
            )
        try:
            return cls(
                **{name: _tupled(value) for name, value in values.items()},
                source=None if source is None else Source(**source),
                settings=content.get("settings") or {},
            )
        except TypeError as error:
            raise ConfigError(f"{path} is incomplete ({error}). Write it again") from None


def plain(value: Any) -> Any:
    """Convert a value to what JSON can hold: NaN to None, arrays and tuples to lists."""
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _tupled(value: Any) -> Any:
    return tuple(map(_tupled, value)) if isinstance(value, list) else value


# ---------------------------------------------------------------- what a test asks of its plan
def check_plan(
    plan: Any, source: Source, computed: Mapping[str, float], *, is_clustered: bool
) -> None:
    """Refuse a plan that was changed, the plan's own cases, and groups in one of the two only.

    Parameters
    ----------
    plan
        The plan, as it was made or read.
    source
        The new cases.
    computed
        Numbers recomputed from the plan's settings, by the name of its field.
    is_clustered
        Whether the new cases have groups.

    Raises
    ------
    ConfigError
        In one line.
    """
    if plan.source is not None and source.sha256 == plan.source.sha256:
        raise ConfigError(
            f"{source.name} is the file that the plan was made from ({plan.source.name}), so the "
            "test would confirm the plan with its own cases. Give the file of the new cases."
        )
    for name, value in computed.items():
        stored = getattr(plan, name)
        if not math.isclose(stored, value, rel_tol=1e-6, abs_tol=1e-9):
            raise ConfigError(
                f"the plan has {name} {stored:.6g}, and its settings give {value:.6g}: it was "
                "changed after it was made. Make the plan again."
            )
    if plan.is_clustered != is_clustered:
        raise ConfigError(
            "the plan counts groups, and these cases have none. Name them with cluster="
            if plan.is_clustered
            else "the plan counts cases, and cluster= names groups. Make the plan with groups too"
        )


# ---------------------------------------------------------------- published evidence
class Evidence(NamedTuple):
    """A number that a study measured.

    Attributes
    ----------
    key
        Its meaning here, such as "threshold umbrella".
    study, measure
        Names of the study and of the measure.
    cell
        The columns that identify the row of the summary: "n_boot=0;method=umbrella".
    estimate, mcse
        The estimate and its Monte Carlo standard error.
    """

    key: str
    study: str
    measure: str
    cell: str
    estimate: float
    mcse: float

    def __str__(self) -> str:
        """The estimate in per cent, ± 2 Monte Carlo standard errors."""
        return f"{100 * self.estimate:.1f} ± {200 * self.mcse:.1f}%"


@functools.cache
def all_evidence() -> tuple[Evidence, ...]:
    """Return every number of `evidence.csv`."""
    with EVIDENCE.open(encoding="utf-8", newline="") as file:
        return tuple(
            Evidence(key, study, measure, cell, float(estimate), float(mcse))
            for key, study, measure, cell, estimate, mcse in [*csv.reader(file)][1:]
        )


def evidence(key: str) -> list[Evidence]:
    """Return the numbers of a key, none if no study measured it."""
    return [each for each in all_evidence() if each.key == key]


def loo_errors(n_obs: int, n_feature: int) -> tuple[int, int, dict[str, tuple[float, float]]]:
    """Return how far standard errors of R² were off in the nearest cell of `loo_calibration`.

    Parameters
    ----------
    n_obs, n_feature
        Observations and features of the user's data.

    Returns
    -------
    tuple
        Observations and features of the cell, and by method ("taylor" of 1 - MSE / V, "bootstrap"
        of 1 - Var(e) / Var(y)) the least and the largest relative error over the noise.
    """

    def distance(cell: tuple[int, int]) -> float:
        size = abs(math.log(cell[0] / n_obs))
        share = abs(math.log((cell[1] / cell[0]) / (max(n_feature, 1) / n_obs)))
        crowded = n_feature > n_obs / 5  # then the share of features decides, else the size
        return size + 2 * share if crowded else 2 * size + share

    words = [each.key.split() for each in all_evidence() if each.study == "loo_calibration"]
    n, p = min({(int(n), int(p)) for _, n, p, _ in words}, key=distance)
    ranges = {}
    for method in ("taylor", "bootstrap"):
        found = [each.estimate for each in evidence(f"loo {n} {p} {method}")]
        ranges[method] = min(found), max(found)
    return n, p, ranges


# ---------------------------------------------------------------- words and figures
def number(value: float | None) -> str:
    """Format a number with four significant digits, without exponent where readable."""
    if value is None or math.isnan(value):
        return "none"
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"


def per_cent(share: float) -> str:
    """Format a probability in percent; 100% only for 1."""
    if math.isnan(share):
        return "unknown"
    text = f"{100 * share:.3g}%"
    if text == "100%" and share < 1:  # two digits more than there are nines
        return f"{100 - float(f'{100 * (1 - share):.2g}'):.12g}%"
    return text


@functools.cache
def _templates() -> jinja2.Environment:
    """The templates of the reports, with their filters."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    folder = FileSystemLoader(Path(__file__).with_name("texts"))
    made = Environment(
        loader=folder, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters |= {
        "n": number,
        "pct": per_cent,
        "c": "{:,}".format,
        "p": "{:.3g}".format,
        "measured": lambda key: next(iter(evidence(str(key))), None),
    }
    return made


def curves(
    frame: pd.DataFrame, x: str, y: str, color: str, /, dashed: float | None = None, **labels: Any
) -> Any:
    """Draw lines by a category, in the style of the framework's figures.

    Parameters
    ----------
    frame
        A row per point.
    x, y, color
        Columns.
    dashed
        Height of a horizontal dashed line; None for none.
    labels
        The title, and names of axes by `title`, `x` and `y`.

    Returns
    -------
    ggplot
        The figure.
    """
    from simstudy.figures.theme import OKABE_ITO, theme_study

    names = list(dict.fromkeys(frame[color]))
    figure = p9.ggplot(frame, p9.aes(x, y, color=color)) + p9.geom_line(size=0.8)
    if dashed is not None:
        figure += p9.geom_hline(yintercept=dashed, linetype="dashed", color="#666666")
    colors = p9.scale_color_manual(values=OKABE_ITO[: len(names)], limits=names)
    return figure + colors + theme_study() + p9.labs(**labels)
