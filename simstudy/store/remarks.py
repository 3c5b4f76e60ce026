"""What was noticed of stored blocks, kept beside them: it belongs to the numbers, not to a run.

Each run that noticed anything leaves a file of its own, named by its content, so that shares of a
study which are drawn at one time have nothing to agree upon.
"""

import json
from collections.abc import Iterator, Mapping

from simstudy.atomic_files import read_json, write_json
from simstudy.identity.names import short_hash
from simstudy.remote.paths import Place
from simstudy.store.owner import Owner

FOLDER = "_noticed"  # below that of the blocks

Remarks = Mapping[tuple[str, str], str]
"""Texts, each by the kind of what was noticed and the key of what was drawn."""


def remember(blocks: Place, owner: Owner, remarks: Remarks) -> None:
    """Write down what was noticed of some blocks of an owner."""
    if not remarks:
        return
    keys = {key for _, key in remarks}
    said = {"owner": owner.text(keys), "remarks": [[*at, text] for at, text in remarks.items()]}
    name = short_hash(json.dumps(said, sort_keys=True), 32)
    write_json(blocks / FOLDER / f"{name}.json", said)


def remembered(blocks: Place, owner: Owner) -> dict[str, str]:
    """By kind, what was ever noticed of blocks that are this owner's too: of each the first."""
    found: dict[str, str] = {}
    for path in files_of(blocks):
        for kind, text in _said_of(owner, read_json(path) or {}):
            found.setdefault(kind, text)
    return found


def files_of(blocks: Place) -> list[Place]:
    """The files that say it."""
    return sorted([*(blocks / FOLDER).glob("*.json")], key=str)


def _said_of(owner: Owner, said: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    whose, remarks = Owner.read(str(said.get("owner"))), said.get("remarks")
    for kind, key, text in remarks if isinstance(remarks, list) else ():
        if key in owner.values and whose.serves(owner, key):
            yield kind, text
