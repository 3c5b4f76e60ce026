"""A protocol: made of a study, kept beside its results, and held against what was done."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from simstudy.analysis.precision import MARGIN, Target, read_targets, shortfalls
from simstudy.analysis.result import Result
from simstudy.errors import StoreError, first_few
from simstudy.output.protocol.intent import Intent
from simstudy.output.protocol.lines import n_places
from simstudy.output.protocol.promise import (
    Promise,
    Row,
    compared,
    done_promise,
    planned_promise,
    read_promise,
)
from simstudy.output.protocol.text import markdown_of
from simstudy.output.wording import number
from simstudy.remote.paths import Place
from simstudy.whole_files import read_json, write_bytes, write_json

RECORD, TEXT = "protocol.json", "protocol.md"


@dataclass(frozen=True)
class Protocol:
    """What is planned, when that was written, and its text; prints as Markdown.

    Parameters
    ----------
    written
        Date and time, UTC.
    n_drawn
        Blocks of this very study that were there already when it was written.
    replaces
        Hashes of earlier protocols that it took the place of, the first one first.
    """

    promise: Promise
    written: str
    n_drawn: int = 0
    replaces: tuple[str, ...] = ()
    markdown: str = field(default="", repr=False)

    def __str__(self) -> str:
        return self.markdown

    def __repr__(self) -> str:
        least, n = self.promise.replicates[0], len(self.promise.scenarios)
        return (
            f"Protocol of {self.promise.study} ({self.hash}), written {self.written}: {n:,} "
            f"scenario{'s' * (n != 1)}, {least:,} replicates in each, {self.n_places} places to "
            "fill in"
        )

    def _repr_markdown_(self) -> str:
        """As a notebook shows it."""
        return self.markdown

    @property
    def hash(self) -> str:
        """Of what is planned, whenever it is written."""
        return self.promise.hash

    @property
    def n_places(self) -> int:
        """How many places are left to a person."""
        return n_places(self.markdown)

    def compared(self, result: Result) -> list[Row]:
        """What was planned beside what was done, line by line."""
        rows = compared(self.promise, done_promise(result, self.promise.precision))
        return [*rows, *_precision_rows(self.promise.precision, result)]

    def deviations(self, result: Result) -> list[str]:
        """What was done otherwise than planned, a sentence each; none where nothing was."""
        return [*self._before(), *(r.in_words() for r in self.compared(result) if r.differs)]

    def _before(self) -> list[str]:
        """What has to be known of when it was written."""
        said = [f"it was written when {self.n_drawn:,} blocks had been drawn"] * bool(self.n_drawn)
        earlier = ", ".join(self.replaces)
        return said + [f"it takes the place of an earlier one ({earlier})"] * bool(earlier)

    def write(self, folder: Place, *, replace: bool = False) -> Protocol:
        """Keep it beside a study's results: `protocol.md` for people, `protocol.json` for us.

        A protocol of the same plan stays as it is, with what a person has filled in. One of another
        plan is replaced only if that is said, and kept under its hash.

        Raises
        ------
        StoreError
            Where another plan is there.
        """
        before = read_protocol(folder)
        if before is None and (folder / TEXT).exists():
            raise _text_alone(folder)
        if before is not None and before.hash == self.hash:
            return before
        if before is not None:
            if not replace:
                raise _another_plan(folder, before, self)
            for name in (RECORD, TEXT):
                stem, _, ending = name.partition(".")
                _copy(folder / name, folder / f"{stem}-{before.hash[:8]}.{ending}")
            return self._after(before)._written_to(folder)
        return self._written_to(folder)

    def _after(self, before: Protocol) -> Protocol:
        return Protocol(
            self.promise, self.written, self.n_drawn, (*before.replaces, before.hash), self.markdown
        )

    def _written_to(self, folder: Place) -> Protocol:
        said = {
            "written": self.written,
            "hash": self.hash,
            "blocks_drawn_before": self.n_drawn,
            "replaces": list(self.replaces),
        }
        said |= {"seal": _seal(said), "planned": asdict(self.promise)}
        write_bytes(folder / TEXT, self.markdown.encode())
        write_json(folder / RECORD, said)
        return self


def _copy(source: Place, target: Place) -> None:
    if source.exists():
        write_bytes(target, source.read_bytes())


def _another_plan(folder: Place, before: Protocol, now: Protocol) -> StoreError:
    rows = [row for row in compared(before.promise, now.promise) if row.differs]
    changed = [row.in_words("then", "now") for row in rows] or ["its precision is another"]
    return StoreError(
        f"{folder / RECORD} holds a protocol of {before.written} with another plan "
        f"({first_few(changed)}). Choose another out=..., or say replace=true: the earlier one is "
        f"then kept as protocol-{before.hash[:8]}.md, and the new one says that it took its place."
    )


def _precision_rows(precision: Mapping[str, Any], result: Result) -> list[Row]:
    """Monte Carlo errors that were planned, beside the largest that there are."""
    known = [measure.name for measure in result.declared]
    rows = []
    for name, asked in precision.items():
        planned = f"a Monte Carlo error of at most {asked}{' of it' * isinstance(asked, str)}"
        if name not in known:
            rows.append(Row(name, planned, "not measured", differs=True))
            continue
        (target,) = read_targets({name: asked}, result.declared)
        rows.append(_precision_row(target, planned, result))
    return rows


def _precision_row(target: Target, planned: str, result: Result) -> Row:
    """Up to a twentieth more than was planned is the chance of the error's own estimate."""
    short = shortfalls(result, [target])
    n_short = sum(ratio > MARGIN for ratio in short.values())
    worst = max(short.values())
    share = f"{100 * target.mcse * worst:.3g}%" if target.relative else number(target.mcse * worst)
    detail = f"more in {n_short:,} of {len(short):,} scenarios" if n_short else ""
    return Row(target.measure, planned, f"at most {share}", bool(n_short), detail)


def read_protocol(folder: Place) -> Protocol | None:
    """The protocol that lies beside a study's results, as it stands; None where there is none.

    Raises
    ------
    StoreError
        Where its record has been edited or damaged, so that nobody knows what was planned.
    """
    path = folder / RECORD
    if not path.exists():
        return None
    said = read_json(path) or {}
    try:
        promise = read_promise(said.get("planned"))
        found = Protocol(
            promise,
            str(said["written"]),
            int(said["blocks_drawn_before"]),
            tuple(map(str, said["replaces"])),
            _text_in(folder),
        )
    except (StoreError, KeyError, TypeError, ValueError) as error:
        raise _edited(path, str(error)) from None
    if said.get("hash") != found.hash:
        raise _edited(path, "its hash is not that of what it plans")
    if said.get("seal") != _seal(said):
        raise _edited(path, "its seal is not that of when and after what it was written")
    return found


def _seal(said: Mapping[str, Any]) -> str:
    """Of what a record says beside the plan."""
    beside = {name: said[name] for name in ("written", "hash", "blocks_drawn_before", "replaces")}
    return hashlib.sha256(json.dumps(beside).encode()).hexdigest()[:16]


def _text_alone(folder: Place) -> StoreError:
    return StoreError(
        f"{folder / TEXT} is there without the {RECORD} that says what it planned, and what a "
        f"person filled in would be lost. Put {RECORD} back, or move {TEXT} away."
    )


def _edited(path: Place, why: str) -> StoreError:
    return StoreError(
        f"{path} is no longer what was written ({why}), so results cannot be held against it. Put "
        "the file of then in its place, or move it away."
    )


def _text_in(folder: Place) -> str:
    path = folder / TEXT
    return path.read_text(encoding="utf-8") if path.exists() else ""


def protocol_of(intent: Intent, *, n_drawn: int, made_with: Mapping[str, Any]) -> Protocol:
    """The protocol of what a study intends."""
    promise = planned_promise(
        intent.plan,
        intent.measures,
        intent.planned,
        worst=intent.worst,
        precision=intent.precision,
    )
    promise = read_promise(json.loads(json.dumps(asdict(promise), default=str)))  # as files say it
    written = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    text = markdown_of(intent, promise, written=written, n_drawn=n_drawn, made_with=made_with)
    return Protocol(promise, written, n_drawn, markdown=text)
