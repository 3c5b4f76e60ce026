"""The run that made a crate's files: what was done, by which code, with which numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from simstudy.output.crate.entities import Entity, entity, refer, value
from simstudy.output.manifest import DRAWN

MADE = "%Y-%m-%d %H:%M UTC"  # how a manifest says when results were made
LANGUAGE = "https://www.python.org/"


def software_of(manifest: Mapping[str, Any], code: Sequence[Entity]) -> list[Entity]:
    """Simstudy with its libraries, the language, and the study's own code."""
    versions = dict(manifest.get("versions", {}))
    versions.pop("python", None)
    own = versions.pop("simstudy", None)
    libraries = [
        entity(f"#{name}", "SoftwareApplication", name=name, softwareVersion=version)
        for name, version in sorted(versions.items())
    ]
    python = entity(LANGUAGE, "ComputerLanguage", name="Python", version=manifest.get("python"))
    package = entity(
        "#simstudy", "SoftwareApplication", name="simstudy", softwareVersion=own,
        softwareRequirements=refer([python, *libraries]),
    )  # fmt: skip
    states = manifest.get("git", [])
    commits = [f"{s['commit']}{', modified' * bool(s.get('modified'))}" for s in states]
    study = entity(
        "#study", "SoftwareSourceCode", name=f"code of the study {manifest['study']}",
        programmingLanguage={"@id": LANGUAGE}, version="; ".join(commits), hasPart=refer(code),
    )  # fmt: skip
    return [package, python, *libraries, study]


def action_of(
    manifest: Mapping[str, Any], command: str, authors: Sequence[Entity], made: Sequence[Entity]
) -> list[Entity]:
    """The run, and the numbers that it was given and that it took."""
    numbers = _numbers(manifest)
    action = entity(
        "#run", "CreateAction", name=f"run of {manifest['study']}", description=command,
        instrument=[{"@id": "#simstudy"}, {"@id": "#study"}], object=refer(numbers),
        result=refer(made), agent=refer(authors),
        startTime=began(manifest), endTime=_ended(manifest),
        actionStatus={"@id": "http://schema.org/CompletedActionStatus"},
    )  # fmt: skip
    return [action, *numbers]


def began(manifest: Mapping[str, Any]) -> str | None:
    """When the first block was begun; None of results that do not say so."""
    first, *_ = manifest.get(DRAWN) or [""]
    return str(first) or None


def _ended(manifest: Mapping[str, Any]) -> str | None:
    """When the outputs were there, to the minute; never before the last block."""
    *_, last = manifest.get(DRAWN) or [""]
    try:
        made = datetime.strptime(str(manifest.get("made")), MADE).strftime("%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        made = ""
    return max(str(last), made) or None


def _numbers(manifest: Mapping[str, Any]) -> list[Entity]:
    config = manifest.get("config", {})
    settings = [value(f"setting {name}", _plain(said)) for name, said in sorted(config.items())]
    counted = {
        "seed": manifest["seed"],
        "scenarios": manifest.get("scenarios"),
        "replicates": manifest.get("replicates"),
        "failed replicates": manifest.get("failed_replicates"),
        "largest Monte Carlo standard error": manifest.get("largest_mcse"),
        "kind of machine": manifest.get("machine"),
        "digest of the summary": manifest.get("digest"),
    }
    said = [value(name, number) for name, number in counted.items() if number is not None]
    took = manifest.get("wall_seconds")
    seconds = [value("wall time", took, unitText="s")] if took is not None else []
    return [*said, *seconds, *settings]


def _plain(said: Any) -> Any:
    """A setting's value in one word, where JSON has it, or as the text that a user types."""
    from simstudy.output.report.command import written

    return said if isinstance(said, bool | int | float | str) else written(said)
