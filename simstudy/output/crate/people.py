"""Who made a study, under which licence and after which document, as its CITATION.cff says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from simstudy.errors import ConfigError
from simstudy.output.crate.entities import Entity, entity
from simstudy.remote.paths import Place

CITATION: Final = "CITATION.cff"
UNKNOWN: Final = "author not stated"  # where the format asks for authors and nobody knows them


class Credits(NamedTuple):
    """Entities of authors, of the licence, where one is stated, and of what is reproduced."""

    authors: list[Entity]
    licence: Entity | None
    documents: list[Entity]


def credits_of(folder: Place, study: str) -> Credits:
    """What the file says that lies in a folder; nothing, where there is none.

    Its `references` are documents that studies reproduce: all of them, or those that the
    reference's `scope` names.

    Raises
    ------
    ConfigError
        Where it cannot be read.
    """
    path = folder / CITATION
    if not path.exists():
        return Credits([], None, [])
    said = _read(path)
    references = [each for each in said.get("references", []) if _is_about(each, study)]
    spdx = said.get("license")
    licence = None if not isinstance(spdx, str) else entity(
        f"https://spdx.org/licenses/{spdx}", "CreativeWork", name=spdx, identifier=spdx
    )  # fmt: skip
    return Credits(
        [_author(each, at) for at, each in enumerate(said.get("authors", []), 1)],
        licence,
        [_document(each, at) for at, each in enumerate(references, 1)],
    )


def _read(path: Place) -> Mapping[str, Any]:
    import yaml

    try:
        said = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(said, dict):
        raise ConfigError(f"{path} is no citation file: it says nothing by name, as in title: ...")
    return said


def _is_about(reference: Mapping[str, Any], study: str) -> bool:
    scope = str(reference.get("scope", ""))
    return not scope or study in scope.replace(",", " ").split()


def _author(author: Mapping[str, Any], at: int) -> Entity:
    """A person, or whoever has one name."""
    if "family-names" not in author and "given-names" not in author:
        own = author.get("website") or f"#author-{at}"
        return entity(own, "Organization", name=author.get("name", f"author {at}"))
    parts = (author.get(part, "") for part in ("given-names", "name-particle", "family-names"))
    work = author.get("affiliation")
    return entity(
        author.get("orcid") or f"#author-{at}", "Person", name=" ".join(filter(None, parts)),
        affiliation=work, email=author.get("email"),
    )  # fmt: skip


def _document(reference: Mapping[str, Any], at: int) -> Entity:
    doi = reference.get("doi")
    authors = (_author(each, 0)["name"] for each in reference.get("authors", []))
    names = [name for name in authors if name != UNKNOWN]
    known = [each.get("value") for each in reference.get("identifiers", [])]
    address = f"https://doi.org/{doi}" if doi else reference.get("url")
    year = reference.get("year")
    return entity(
        address or f"#document-{at}", "ScholarlyArticle", name=reference.get("title"),
        author="; ".join(names), datePublished=str(year) if year else None, identifier=known,
    )  # fmt: skip
