"""Who made a study, under which licence and after which document, as its CITATION.cff says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from simstudy.errors import ConfigError, in_one_line
from simstudy.output.crate.entities import Entity, entity
from simstudy.remote.paths import Place

CITATION: Final = "CITATION.cff"
UNKNOWN: Final = "author not stated"  # where the format asks for authors and nobody knows them
OF_A_DOI: Final = re.compile(r"^(?:https?://(?:dx\.)?doi\.org/|doi:)\s*", re.IGNORECASE)
IN_ADDRESS: Final = ":/?#[]@!$&'()*+,;=%~"  # letters of an address that stay as they are
SUCH_AS: Final = {
    "authors": "{given-names: Jane, family-names: Doe}",
    "references": "{type: article, title: A trial}",
    "identifiers": "{type: doi, value: 10.1000/xyz}",
}


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
    references = [each for each in _list(said, "references", path) if _is_about(each, study)]
    authors = [_author(each, at) for at, each in enumerate(_list(said, "authors", path), 1)]
    documents = [_document(each, at) for at, each in enumerate(references, 1)]
    return Credits(_each_once(authors), _licence(said), _each_once(documents))


def _licence(said: Mapping[str, Any]) -> Entity | None:
    """The licence, or the choice between several, by its names in SPDX."""
    given = said.get("license")
    spdx = " OR ".join(map(str, given)) if isinstance(given, list) else given
    if isinstance(spdx, str) and spdx.strip():
        is_one = len(spdx.split()) == 1
        address = f"https://spdx.org/licenses/{quote(spdx)}" if is_one else "#licence"
        return entity(address, "CreativeWork", name=spdx, identifier=spdx)
    own = _text(said.get("license-url"))
    return entity(quote(own, safe=IN_ADDRESS), "CreativeWork", name=own) if own else None


def _each_once(entities: Iterable[Entity]) -> list[Entity]:
    """The first of those that have one name: a crate tells entities apart by it."""
    return [*{each["@id"]: each for each in reversed([*entities])}.values()][::-1]


def _list(said: Mapping[str, Any], name: str, where: object) -> list[Mapping[str, Any]]:
    """A list of entries by name; empty where nothing stands.

    Raises
    ------
    ConfigError
        Where it is none.
    """
    given = said.get(name)
    entries = [] if given is None else given
    if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
        raise ConfigError(
            f"{where} has {in_one_line(f'{name}: {given!r}')}: {name} are a list whose entries "
            f"have names, such as {SUCH_AS.get(name, 'those of authors')}"
        )
    return entries


def _text(given: object) -> str:
    """What was written, in one line; nothing where nothing was, or more than a text."""
    return "" if given is None or isinstance(given, dict | list) else " ".join(str(given).split())


def _read(path: Place) -> Mapping[str, Any]:
    import yaml

    try:
        said = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
        raise ConfigError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(said, dict):
        raise ConfigError(f"{path} is no citation file: it says nothing by name, as in title: ...")
    return said


def _is_about(reference: Mapping[str, Any], study: str) -> bool:
    given = reference.get("scope")
    names = " ".join(map(str, given)) if isinstance(given, list) else _text(given)
    return not names or study in names.replace(",", " ").split()


def _author(author: Mapping[str, Any], at: int) -> Entity:
    """A person, or whoever has one name."""
    said = {name: _text(given) for name, given in author.items()}
    if "family-names" not in author and "given-names" not in author:
        own = quote(said.get("website", ""), safe=IN_ADDRESS) or f"#author-{at}"
        return entity(own, "Organization", name=said.get("name") or f"author {at}")
    parts = (said.get(part, "") for part in ("given-names", "name-particle", "family-names"))
    return entity(
        quote(said.get("orcid", ""), safe=IN_ADDRESS) or f"#author-{at}", "Person",
        name=" ".join(filter(None, parts)),
        affiliation=said.get("affiliation"), email=said.get("email"),
    )  # fmt: skip


def _document(reference: Mapping[str, Any], at: int) -> Entity:
    doi = OF_A_DOI.sub("", _text(reference.get("doi")))
    where = f"a reference in {CITATION}"
    authors = (_author(each, 0)["name"] for each in _list(reference, "authors", where))
    names = [name for name in authors if name != UNKNOWN]
    known = [_text(each.get("value")) for each in _list(reference, "identifiers", where)]
    address = f"https://doi.org/{doi}" if doi else _text(reference.get("url"))
    return entity(
        quote(address, safe=IN_ADDRESS) or f"#document-{at}", "ScholarlyArticle",
        name=_text(reference.get("title")), author="; ".join(names),
        datePublished=_text(reference.get("year")), identifier=[*filter(None, known)],
    )  # fmt: skip
