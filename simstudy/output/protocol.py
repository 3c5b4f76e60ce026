"""Preregistration after ADEMP-PreReg, and the deviations from it.

The sections are those of the template of Siepe, Bartoš, Morris, Boulesteix, Heck & Pawel (2024),
Simulation studies for methodological research in psychology, Psychological Methods; the text is our
own.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from simstudy.analysis.estimates import Target, read_targets
from simstudy.analysis.precision import MARGIN, precision_ratios
from simstudy.analysis.result import Result
from simstudy.design.plan import Plan, factors_of, method_of
from simstudy.design.reprs import from_to
from simstudy.engine.provenance import code_hashes, compute_provenance
from simstudy.errors import StoreError, first_few
from simstudy.measures import Measure
from simstudy.output.formatting import counted, number
from simstudy.places import Place, read_json, write_bytes, write_json
from simstudy.provenance.scenario_id import identity, short_hash
from simstudy.store.runs import PROTOCOL
from simstudy.tables.table import escaped

HEADING = re.compile(r"^(Aims|Data|Estimands|Methods|Performance)\s+", re.MULTILINE)
RECORD, TEXT = PROTOCOL, "protocol.md"
TEMPLATE = Path(__file__).with_name("protocol.md.jinja")


class Headings(NamedTuple):
    """An experiment's docstring by heading: question, ADEMP headings, rest."""

    question: str
    paragraphs: list[str]
    parts: list[tuple[str, str]]


def headings_of(about: str) -> Headings:
    """Split an experiment's docstring by heading."""
    lead, *parts = HEADING.split(about.strip())
    texts = [text for text in lead.split("\n\n") if text.strip()]
    return Headings("".join(texts[:1]), texts[1:], list(zip(parts[::2], parts[1::2], strict=True)))


class Row(NamedTuple):
    """One planned item and the completed one."""

    what: str
    planned: str
    done: str
    differs: bool


def hash_of(content: Any, n_hex: int = 32) -> str:
    """The hash of plain data, such as a plan."""
    return short_hash(json.dumps(content, sort_keys=True), n_hex)


def plan_of(
    plan: Plan, measures: Sequence[Measure], sizes: Collection[int], precision: Mapping[str, Any]
) -> dict[str, Any]:
    """A planned or a completed study as plain data.

    `sizes` are the replicates of each scenario, `precision` the Monte Carlo errors to reach, by
    measure, as typed.
    """
    blocks, drawn = compute_provenance(plan).of_blocks, plan.work_units.keys.items()
    units = {method_of(unit) or type(unit).__name__: key for key, unit in drawn}
    most = "" if plan.rules.max_failed is None else f", at most {plan.rules.max_failed:.3%}"
    content = {
        "replicates": f"{from_to(min(sizes), max(sizes))} in each scenario",
        "scenarios": {identity(scenario): "" for scenario in plan.keys.values()},
        **{axis: dict.fromkeys(map(str, labels), "") for axis, labels in plan.axes.items()},
        "measures": dict(zip([m.name for m in measures], code_hashes(measures), strict=True)),
        "seed": plan.seed,
        "failures": f"record{most}",
        "block size": plan.block_size,
        "code": {name: hash_of(blocks.codes[key], 16) for name, key in units.items()},
        "precision": dict(precision),
    }
    return dict(json.loads(json.dumps(content, default=str)))  # the types of a JSON file


def _compared(name: str, old: Any, new: Any) -> Row:
    """Compare a part of the planned and of the completed study."""
    if not isinstance(old, dict):
        return Row(name, str(old), str(new), old != new)
    if name == "code":  # other methods are listed already
        old, new = ({n: each[n] for n in each if n in old and n in new} for each in (old, new))
    changes = {
        "left out": [each for each in old if each not in new],
        "added": [each for each in new if each not in old],
        "computed otherwise": [n for n in old if n in new and old[n] != new[n]],
    }
    detail = ". ".join(f"{how}: {first_few(each)}" for how, each in changes.items() if each)
    before, after = (", ".join(each) or "none" for each in (old, new))
    if name == "scenarios":
        before, after = f"{len(old):,}", f"{len(new):,}"
    return Row(name, before, after + f" ({detail})" * bool(detail), bool(detail))


def _precision_row(name: str, goal: Any, result: Result) -> Row:
    """Compare the largest Monte Carlo error with the planned one."""
    planned = f"a Monte Carlo error of at most {goal}"
    if name not in [measure.name for measure in result.details.declared]:
        return Row(name, planned, "not measured", differs=True)
    (target,) = read_targets({name: goal}, result.details.declared)
    ratios = precision_ratios(result, [target])
    n_short, error = sum(r > MARGIN for r in ratios.values()), target.mcse * max(ratios.values())
    done = f"at most {100 * error:.3g}%" if target.relative else f"at most {number(error)}"
    detail = f" (more in {n_short:,} of {len(ratios):,} scenarios)" * bool(n_short)
    return Row(name, planned, done + detail, bool(n_short))


@dataclass(frozen=True)
class Protocol:
    """A preregistration; prints as Markdown.

    Parameters
    ----------
    written
        Date and time, UTC.
    was_drawn
        Whether blocks of the study were stored when it was written.
    hash
        The hash of the plan, independent of the date.
    """

    name: str
    planned: dict[str, Any]
    written: str
    was_drawn: bool
    markdown: str
    hash: str

    def __str__(self) -> str:
        return self.markdown

    _repr_markdown_ = __str__

    def __repr__(self) -> str:
        return (
            f"Protocol of {self.name} ({self.hash}), written {self.written}: "
            f"{counted(len(self.planned['scenarios']), 'scenario')}, "
            f"{self.planned['replicates']}, {self.n_places} places to fill in"
        )

    @property
    def n_places(self) -> int:
        """The number of places left for the author to fill in."""
        return self.markdown.count("[to fill in: ")

    def compared(self, result: Result) -> list[Row]:
        """The planned and the completed study, row by row."""
        done = plan_of(result.plan, result.details.declared, result.n_rep.values(), {})
        planned = self.planned["replicates"]
        is_sequential = self.planned["precision"] and result.details.targets
        if is_sequential and min(result.n_rep.values()) >= int(re.sub(r"\D", "", planned)):
            done["replicates"] = planned  # a precision adds more
        parts = [name for name in {**self.planned, **done} if name != "precision"]
        rows = [_compared(n, self.planned.get(n, {}), done.get(n, {})) for n in parts]
        goals = self.planned["precision"].items()
        return [*rows, *(_precision_row(name, goal, result) for name, goal in goals)]

    def deviations(self, result: Result) -> list[str]:
        """The deviations from the plan, one sentence each."""
        late = ["it was written after blocks had been drawn"] if self.was_drawn else []
        rows = [row for row in self.compared(result) if row.differs]
        return late + [f"{row.what}: planned {row.planned}, done {row.done}" for row in rows]

    def write(self, folder: Place) -> Protocol:
        """Write `protocol.md` and `protocol.json` to a study's folder.

        An existing protocol of the same plan is kept, with what its author has filled in.

        Raises
        ------
        StoreError
            If there is a protocol of another plan.
        """
        before = read_protocol(folder)
        if before is not None and before.hash == self.hash:
            return before
        if before is not None or (folder / TEXT).exists():
            text = f"{folder / TEXT} is of another plan, and may contain text of its author"
            raise StoreError(f"{text}: move it and {RECORD} away, or choose another out=...")
        content = asdict(self)
        write_bytes(folder / TEXT, content.pop("markdown").encode())
        write_json(folder / RECORD, content)
        return self


def read_protocol(folder: Place) -> Protocol | None:
    """Read the protocol in a study's folder; None if there is none.

    Raises
    ------
    StoreError
        If its record has been edited or damaged.
    """
    path, text = folder / RECORD, folder / TEXT
    if not path.exists():
        return None
    content = read_json(path) or {}
    if content.get("hash") == hash_of(content.get("planned")):
        markdown = text.read_text(encoding="utf-8") if text.exists() else ""
        return Protocol(**content, markdown=markdown)
    raise StoreError(f"{path} was changed after it was written: restore it, or move it away")


def protocol_of(
    plan: Plan, measures: Sequence[Measure], n_rep: int, targets: Sequence[Target], **facts: Any
) -> Protocol:
    """Make the protocol of a planned study.

    Parameters
    ----------
    targets
        Monte Carlo errors to reach.
    facts
        Further variables of the template: `about`, the docstring with the five headings, empty if
        there is none; `claims`; `command`; `made_with`, the environment; and `was_drawn`, whether
        blocks of the study are stored already.
    """
    from jinja2 import Environment, StrictUndefined

    precision: dict[str, Any] = {each.measure: each.mcse for each in targets}
    precision |= {each.measure: f"{100 * each.mcse:g}%" for each in targets if each.relative}
    planned = plan_of(plan, measures, [n_rep], precision)
    plan_hash, code_hash = hash_of(planned), short_hash(json.dumps(planned["code"]))
    env = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    env.filters.update(code=_code, prose=_prose, about=_about, number=number, n="{:,}".format)
    levels: dict[str, dict[str, dict[str, None]]] = {}  # by class of scenarios and factor
    for scenario in plan.scenarios:
        of_class = levels.setdefault(type(scenario).__name__, {})
        for name, value in factors_of(scenario).items():
            of_class.setdefault(name, {})[str(value)] = None
    text = env.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        plan=plan, measures=measures, n_rep=n_rep, precision=precision, plan_hash=plan_hash,
        code_hash=code_hash, levels=levels, **headings_of(facts["about"])._asdict(), **facts,
    )  # fmt: skip
    markdown = re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"
    made, was_drawn = facts["made_with"]["made"], facts["was_drawn"]
    return Protocol(plan.name, planned, made, was_drawn, markdown, plan_hash)


def _code(text: object) -> str:
    """A name or value as code, also in tables."""
    plain = " ".join(str(text).split()).replace("|", "\\|")
    return f"`` {plain} ``" if "`" in plain else f"`{plain}`"


def _prose(text: str) -> str:
    """A user's paragraphs, escaped."""
    return "\n\n".join(escaped(part) for part in text.split("\n\n") if part.strip())


def _about(method: Any) -> str:
    """The first paragraph of the docstring of a method."""
    function = getattr(method, "analyse", method)  # of `EachReplicate`
    text = inspect.getdoc(getattr(function, "func", function)) or ""
    return " ".join(text.split("\n\n")[0].split())
