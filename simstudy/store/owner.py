"""Whose a block is, as the block's own file says it.

Identity belongs to blocks and not to folders. A block of another owner (another seed, other code,
other data) is not this run's block: it is never read, never set aside, never deleted.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from simstudy.identity.fingerprint import Fingerprint, changes
from simstudy.identity.names import short_hash

UNKNOWN = "unknown"  # the study of a file that does not say whose it is


@dataclass(frozen=True)
class Owner:
    """Whose the blocks of some scenarios are.

    Parameters
    ----------
    settings
        What holds for all of them: study, seed, block size, and the policies that shape rows.
    values
        The factors of each scenario, by its key, with their types.
    codes
        The fingerprint of each scenario's code, by its key.
    """

    settings: Mapping[str, Any]
    values: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[str, Fingerprint] = field(default_factory=dict)

    def only(self, keys: Iterable[str]) -> "Owner":
        """The same for some of the scenarios."""
        keys = list(keys)
        values = {key: self.values[key] for key in keys if key in self.values}
        return Owner(self.settings, values, {key: self.codes[key] for key in values})

    def text(self, keys: Iterable[str]) -> str:
        """As a file says it: what scenarios and methods share of their code, it says once."""
        few = self.only(sorted(set(keys)))
        distinct = list({id(code): code for code in few.codes.values()}.values())
        places = {key: _index_of(code, distinct) for key, code in few.codes.items()}
        said = {"settings": self.settings, "values": few.values, "code": places}
        return json.dumps(said | _shared_and_own(distinct), sort_keys=True)

    @classmethod
    def read(cls, text: str) -> "Owner":
        """What a file says; of a file that says nothing, nobody."""
        try:
            said = json.loads(text)
            whole = [{**said.get("shared", {}), **own} for own in said["codes"]]
            codes = {key: whole[at] for key, at in said["code"].items()}
            return cls(said["settings"], said["values"], codes)
        except (ValueError, KeyError, IndexError, TypeError, AttributeError):
            return cls({"study": UNKNOWN})

    def serves(self, wanted: "Owner", key: str) -> bool:
        """Whether blocks of this owner are those that another wants of a scenario."""
        return self._same(wanted, key) or not self.differences(wanted, key)

    def _same(self, wanted: "Owner", key: str) -> bool:
        """Whether all is equal, which is the rule, and told in no time."""
        mine = self.settings, self.values.get(key), self.codes.get(key)
        return mine == (wanted.settings, wanted.values.get(key), wanted.codes.get(key))

    def differences(self, wanted: "Owner", key: str) -> list[str]:
        """In words, what is other in what is wanted; more measures than are wanted do no harm."""
        mine, theirs = self.settings, wanted.settings
        if mine.get("study") == UNKNOWN:
            return ["its files do not say what made them (an earlier version wrote them)"]
        names = [name for name in {**theirs, **mine} if name != "measures"]
        found = [
            f"{name} was {mine.get(name)} and is {theirs.get(name)}"
            for name in names
            if mine.get(name) != theirs.get(name)
        ]
        old, new = mine.get("measures", {}), theirs.get("measures", {})
        found += changes({name: old[name] for name in new if name in old}, new)
        was, now = self.values.get(key, ""), wanted.values.get(key, "")
        found += [f"the scenario was {was} and is {now}"] if was != now else []
        return found + changes(self.codes.get(key, {}), wanted.codes.get(key, {}))

    def digest(self, n_rep: Mapping[str, int]) -> str:
        """One hash of what some replicates are made from."""
        return short_hash(json.dumps([self.text(n_rep), dict(sorted(n_rep.items()))]), 32)

    @cached_property
    def libraries(self) -> dict[str, str]:
        """Libraries that the numbers depend on, by version."""
        entries = {name: said for code in self.codes.values() for name, said in code.items()}
        return {n: said for n, said in sorted(entries.items()) if not said.startswith("#")}


def _shared_and_own(codes: Sequence[Fingerprint]) -> dict[str, Any]:
    """Entries that all of several codes have, and what each has beside them."""
    if len(codes) < 2:
        return {"codes": list(codes)}
    first, *others = codes
    shared = dict(set(first.items()).intersection(*(code.items() for code in others)))
    own = [{name: s for name, s in code.items() if name not in shared} for code in codes]
    return {"shared": shared, "codes": own}


def _index_of(code: Fingerprint, distinct: Sequence[Fingerprint]) -> int:
    return next(at for at, other in enumerate(distinct) if other is code)


NOBODY = Owner({})
