"""What a crate is made of: entities of JSON-LD, each with a name of its own, and references."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

Entity = dict[str, Any]
PROFILE: Final = "https://w3id.org/ro/crate/1.1"
CONTEXT: Final = [f"{PROFILE}/context", {"sha256": "https://schema.org/sha256"}]
METADATA: Final = "ro-crate-metadata.json"
ROOT: Final = "./"


def entity(address: str, kind: str | Sequence[str], /, **properties: Any) -> Entity:
    """An entity with the properties that say something; a list of one is that one."""
    kinds = kind if isinstance(kind, str) else list(kind)
    said = {key: value for key, value in properties.items() if value not in (None, "", [], {}, ())}
    said = {key: _only(value) for key, value in said.items()}
    return {"@id": address, "@type": kinds, **said}


def _only(said: Any) -> Any:
    return said[0] if isinstance(said, list) and len(said) == 1 else said


def refer(entities: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """References to entities."""
    return [{"@id": each["@id"]} for each in entities]


def name_of_file(path: str) -> str:
    """How a crate names a file below its folder: as a relative address is written."""
    return quote(path)


def value(name: str, number: Any, /, **properties: Any) -> Entity:
    """A property with its value, such as a seed."""
    return entity(f"#{quote(name)}", "PropertyValue", name=name, value=number, **properties)
