"""Preregistration after ADEMP-PreReg, and the deviations from it.

The order of the sections, and what each asks, are those of the template of Siepe, Bartoš, Morris,
Boulesteix, Heck & Pawel (2024), Simulation studies for methodological research in psychology,
Psychological Methods; the words are ours.
"""

from __future__ import annotations

import inspect
import math
import os
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replaced
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from simstudy.analysis.precision import MARGIN, Target, precision_ratios, read_targets
from simstudy.analysis.result import Result
from simstudy.atomic_files import read_json, write_bytes, write_json
from simstudy.claims import Claim
from simstudy.design.plan import Plan, factors_of
from simstudy.engine.per_replicate import EachReplicate
from simstudy.engine.provenance import compute_provenance
from simstudy.errors import StoreError, first_few
from simstudy.measures import Measure
from simstudy.output.formatting import counted, number
from simstudy.output.plan_snapshot import (
    PILOT,
    Need,
    Row,
    Snapshot,
    code_hash,
    diff,
    hash_of,
    snapshot_of,
    spread_of,
)
from simstudy.provenance.scenario_id import parts_of
from simstudy.remote.paths import Place
from simstudy.store.manifest import PROTOCOL
from simstudy.tables.cells import escaped

HEADING = re.compile(r"^(Aims|Data|Estimands|Methods|Performance)\s+", re.MULTILINE)
RECORD, TEXT = PROTOCOL, "protocol.md"
TEMPLATE = Path(__file__).with_name("protocol.md.jinja")
PLACE = "[to fill in: "  # begins what only a person knows
SIZE = "{n_rep}"  # in a command, the replicates that are planned


@dataclass(frozen=True)
class Protocol:
    """A preregistration: plan, date and text; prints as Markdown.

    Parameters
    ----------
    planned
        The plan as plain data.
    written
        Date and time, UTC.
    n_drawn
        Blocks of this study that were there already when it was written.
    replaces
        Hashes of earlier protocols that it took the place of, the first one first.
    """

    planned: Snapshot
    written: str
    n_drawn: int = 0
    replaces: tuple[str, ...] = ()
    markdown: str = field(default="", repr=False)

    def __str__(self) -> str:
        return self.markdown

    def __repr__(self) -> str:
        return (
            f"Protocol of {self.planned['study']} ({self.hash}), written {self.written}: "
            f"{counted(len(self.planned['scenarios']), 'scenario')}, {self.n_rep:,} replicates in "
            f"each, {self.n_places} places to fill in"
        )

    def _repr_markdown_(self) -> str:
        """The text, for notebooks."""
        return self.markdown

    @property
    def hash(self) -> str:
        """The hash of the plan, independent of the date."""
        return hash_of(self.planned)

    @property
    def n_rep(self) -> int:
        """The planned replicates per scenario."""
        return int(self.planned["replicates"][0])

    @property
    def n_places(self) -> int:
        """The number of places left for the author to fill in."""
        return self.markdown.count(PLACE)

    def compared(self, result: Result) -> list[Row]:
        """The planned and the completed study, row by row."""
        details = result.details
        owner, worst = details.store.provenance, details.worst
        sizes = result.n_rep.values()
        done = snapshot_of(result.plan, details.declared, sizes, worst=worst, owner=owner)
        rows, wanted = diff(self.planned, done), self.planned["precision"].items()
        return [*rows, *(_precision_row(name, asked, result) for name, asked in wanted)]

    def deviations(self, result: Result) -> list[str]:
        """The deviations from the plan, one sentence each."""
        late = f"it was written when {self.n_drawn:,} blocks had been drawn"
        again = f"it takes the place of an earlier one ({', '.join(self.replaces)})"
        lines = [late] * bool(self.n_drawn) + [again] * bool(self.replaces)
        return lines + [row.format() for row in self.compared(result) if row.differs]

    def write(self, folder: Place, *, replace: bool = False) -> Protocol:
        """Write `protocol.md` and `protocol.json` beside a study's results.

        A protocol of the same plan stays as it is, with what a person has filled in. One of another
        plan is replaced only if that is said, and kept under its hash.

        Raises
        ------
        StoreError
            Where another plan is there, or a text without its record.
        """
        before, replaces = read_protocol(folder), self.replaces
        if before is None and (folder / TEXT).exists():
            raise StoreError(
                f"{folder / TEXT} is there without the {RECORD} that says what it planned, and "
                f"what a person filled in would be lost. Put {RECORD} back, or move {TEXT} away."
            )
        if before is not None:
            if before.hash == self.hash:
                return before
            if not replace:
                raise _another_plan(folder, before, self)
            for path in (folder / RECORD, folder / TEXT):
                if path.exists():
                    kept = folder / f"{path.stem}-{before.hash[:8]}{path.suffix}"
                    write_bytes(kept, path.read_bytes())
            replaces = (*before.replaces, before.hash)
        record = {
            "written": self.written,
            "hash": self.hash,
            "blocks_drawn_before": self.n_drawn,
            "replaces": list(replaces),
            "planned": self.planned,
        }
        write_bytes(folder / TEXT, self.markdown.encode())
        write_json(folder / RECORD, record)
        return replaced(self, replaces=replaces)


def _another_plan(folder: Place, before: Protocol, now: Protocol) -> StoreError:
    rows = [row for row in diff(before.planned, now.planned) if row.differs]
    changed = [row.format("then", "now") for row in rows] or ["its precision is another"]
    return StoreError(
        f"{folder / RECORD} holds a protocol of {before.written} with another plan "
        f"({first_few(changed)}). Choose another out=..., or say replace=true: the earlier one is "
        f"then kept as protocol-{before.hash[:8]}.md, and the new one says that it took its place."
    )


def read_protocol(folder: Place) -> Protocol | None:
    """Read the protocol beside a study's results; None if there is none.

    Raises
    ------
    StoreError
        Where what it planned has been edited or damaged, so that nobody knows what was planned.
    """
    path, text = folder / RECORD, folder / TEXT
    if not path.exists():
        return None
    content = read_json(path) or {}
    planned = content.get("planned", {})
    if content.get("hash") != hash_of(planned):
        raise StoreError(
            f"{path} is no longer what was written, so results cannot be compared with it. Put the "
            "file of then in its place, or move it away."
        )
    markdown = text.read_text(encoding="utf-8") if text.exists() else ""
    n_drawn, replaces = content["blocks_drawn_before"], tuple(content["replaces"])
    return Protocol(planned, content["written"], n_drawn, replaces, markdown)


def _precision_row(name: str, goal: Any, result: Result) -> Row:
    """Compare the largest Monte Carlo error with the planned one."""
    planned = f"a Monte Carlo error of at most {goal}{' of it' * isinstance(goal, str)}"
    if name not in [measure.name for measure in result.details.declared]:
        return Row(name, planned, "not measured", differs=True)
    (target,) = read_targets({name: goal}, result.details.declared)
    short = precision_ratios(result, [target])
    n_short, error = sum(r > MARGIN for r in short.values()), target.mcse * max(short.values())
    done = f"{100 * error:.3g}%" if target.relative else number(error)
    detail = f"more in {n_short:,} of {len(short):,} scenarios" if n_short else ""
    return Row(name, planned, f"at most {done}", bool(n_short), detail)


# ---------------------------------------------------------------- its text
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


@dataclass(frozen=True)
class Intent:
    """A study before it is drawn.

    Parameters
    ----------
    n_rep
        Replicates in each scenario.
    needs
        How many replicates each Monte Carlo error takes that is to be reached.
    by_needs
        Whether `n_rep` follows from these; else it is fixed beforehand.
    pilot
        The result of a pilot of other random numbers, if there was one.
    about
        The docstring with the five headings; empty where there is none.
    command
        What draws it, with `{n_rep}` for the replicates; empty for what Python says.
    n_drawn
        Blocks of this study that are there already.
    made_with
        Versions, machine, and the state of the code in its repository.
    """

    plan: Plan
    measures: Sequence[Measure]
    n_rep: int
    needs: Sequence[Need]
    by_needs: bool
    pilot: Result | None
    about: str
    command: str
    worst: Mapping[str, float]
    claims: Sequence[Claim]
    block_seconds: float | None
    n_drawn: int
    made_with: Mapping[str, Any]


def protocol_of(intent: Intent) -> Protocol:
    """Make the protocol of an intended study."""
    precision = {need.target.measure: as_typed(need.target) for need in intent.needs}
    plan, owner = intent.plan, compute_provenance(intent.plan).of_blocks
    planned = snapshot_of(
        plan, intent.measures, [intent.n_rep], worst=intent.worst, owner=owner, precision=precision
    )
    written = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return Protocol(planned, written, intent.n_drawn, markdown=_markdown(intent, planned, written))


def as_typed(target: Target) -> float | str:
    """A Monte Carlo error as a user types it."""
    return f"{100 * target.mcse:g}%" if target.relative else target.mcse


def _markdown(intent: Intent, planned: Snapshot, date: str) -> str:
    from jinja2 import Environment, StrictUndefined

    env = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    env.filters |= {"code": _code, "prose": _prose, "number": number, "as_typed": as_typed}
    env.filters |= {"n": "{:,}".format, "pipes": lambda text: text.replace("|", "\\|")}
    scenarios, plan, headings = intent.plan.scenarios, intent.plan, headings_of(intent.about)
    columns = dict.fromkeys(name for measure in intent.measures for name in measure.reads)
    command = intent.command or f"study.run({SIZE}, seed={plan.seed})"
    text = env.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        intent=intent,
        plan=plan,
        hash=hash_of(planned),
        code_hash=code_hash(planned),
        written=date,
        headings=headings,
        parts=dict(headings.parts),
        designs=_designs(scenarios),
        described=_described(scenarios),
        methods=[_method(each.name, each.function) for each in plan.methods],
        measures=[
            (each, each.formula.in_groups(each.group_size), _expected(intent, each))
            for each in intent.measures
        ],
        columns=list(columns),
        command=command.replace(SIZE, str(intent.n_rep)),
        machine=f"{platform.system()} {platform.release()}, {intent.made_with['machine']}, "
        f"{os.cpu_count() or 1} cores",
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _code(text: object) -> str:
    """A name or value as code, also in tables."""
    plain = " ".join(str(text).split()).replace("|", "\\|")
    return f"`` {plain} ``" if "`" in plain else f"`{plain}`"


def _prose(text: str) -> str:
    """A user's paragraphs, escaped."""
    return "\n\n".join(escaped(part) for part in text.split("\n\n") if part.strip())


def _designs(scenarios: Iterable[Any]) -> list[dict[str, Any]]:
    """For each class of scenarios, its factors, levels and conditions."""
    kinds: dict[str, list[dict[str, str]]] = {}
    for scenario in scenarios:
        row = {name: str(value) for name, value in factors_of(scenario).items()}
        kinds.setdefault(type(scenario).__name__, []).append(row)
    return [_design(name, rows) for name, rows in kinds.items()]


def _design(name: str, rows: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    levels = {factor: list(dict.fromkeys(row[factor] for row in rows)) for factor in rows[0]}
    varying = {factor: values for factor, values in levels.items() if len(values) > 1}
    constant = {factor: values[0] for factor, values in levels.items() if len(values) == 1}
    return {
        "name": name,
        "varying": varying,
        "constant": constant,
        "conditions": [[row[factor] for factor in varying] for row in rows],
        "crossed": math.prod(map(len, varying.values())),
    }


def _described(scenarios: Iterable[Any]) -> dict[str, str]:
    """The docstrings of the scenario classes and their parts."""
    scenarios = list(scenarios)
    parts = [*scenarios, *(part for scenario in scenarios for part in parts_of(scenario))]
    values = {kind.__name__: _about(kind) for kind in dict.fromkeys(map(type, parts))}
    return {name: text for name, text in values.items() if text}


def _about(thing: Any) -> str:
    """The first paragraph of a docstring; empty if generated or missing."""
    inherited = isinstance(thing, type) and "__doc__" not in vars(thing)
    text = "" if inherited else inspect.getdoc(thing) or ""
    first = " ".join(text.split("\n\n")[0].split())
    return "" if first.startswith(f"{getattr(thing, '__name__', '?')}(") else first


def _method(name: str, method: Any) -> dict[str, Any]:
    """A method with its docstring and function."""
    function = method.analyse if isinstance(method, EachReplicate) else method
    inner = getattr(function, "func", function)  # of a partial
    module = str(getattr(inner, "__module__", "") or "").removeprefix("__main__")
    called = getattr(inner, "__qualname__", type(inner).__name__)
    given = getattr(function, "keywords", {}).items()
    return {
        "name": name,
        "about": _about(inner),
        "given": ", ".join(f"{key}={value!r}" for key, value in given),
        "one_by_one": isinstance(method, EachReplicate),
        "function": f"{module}.{called}" if module else called,
    }


def _expected(intent: Intent, measure: Measure) -> str:
    """The expected Monte Carlo error of a measure, and how it is known."""
    spread, by = spread_of(measure, intent.plan, intent.pilot)
    if math.isnan(spread):
        return "not known"
    error = number(spread / math.sqrt(intent.n_rep))
    return f"about {error} (pilot)" if by == PILOT else f"at most {error} ({by})"
