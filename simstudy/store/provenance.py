"""The provenance record in each file of blocks: settings, values and code.

Provenance belongs to blocks and not to folders. A run neither reads nor quarantines nor deletes
blocks of other provenance (another seed, other code, other data).
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from simstudy.provenance.fingerprint import Fingerprint, changes
from simstudy.provenance.scenario_id import short_hash

UNKNOWN = "unknown"  # name of the study for files without provenance
OWN_VALUES = "the method's own values"  # entry of a fingerprint: options that a method holds


@dataclass(frozen=True)
class Provenance:
    """The provenance of the blocks of some scenarios.

    Parameters
    ----------
    settings
        Settings of all scenarios: study, seed, block size, and the policies that shape rows.
    values
        Factors of each scenario, with their types, by key.
    codes
        Fingerprint of each scenario's code, by key.
    """

    settings: Mapping[str, Any]
    values: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[str, Fingerprint] = field(default_factory=dict)

    def only(self, keys: Iterable[str]) -> "Provenance":
        """Restrict the provenance to some scenarios."""
        values = {key: self.values[key] for key in keys if key in self.values}
        return Provenance(self.settings, values, {key: self.codes[key] for key in values})

    def to_json(self, keys: Iterable[str]) -> str:
        """Write as JSON for a file; shared code is stored once."""
        few = self.only(sorted(set(keys)))
        distinct = {id(code): code for code in few.codes.values()}
        numbers = {code: at for at, code in enumerate(distinct)}
        places = {key: numbers[id(code)] for key, code in few.codes.items()}
        content = {"settings": self.settings, "values": few.values, "code": places}
        return json.dumps(content | {"codes": [*distinct.values()]}, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Provenance":
        """Read from the JSON of a file; unknown if it has none."""
        try:
            content = json.loads(text)
            shared = content.get("shared", {})  # in files of earlier versions
            whole = [{**shared, **own} for own in content["codes"]]
            codes = {key: whole[at] for key, at in content["code"].items()}
            return cls(content["settings"], content["values"], codes)
        except (ValueError, KeyError, IndexError, TypeError, AttributeError):
            return cls({"study": UNKNOWN})

    def matches(self, expected: "Provenance", key: str, *, versions: bool = True) -> bool:
        """Whether a scenario's blocks of this provenance can be used.

        Parameters
        ----------
        versions
            Whether versions must be equal as well.
        """
        mine, theirs = (
            (each.settings, each.values.get(key), each._code(key, versions=versions))
            for each in (self, expected)
        )
        return mine == theirs

    def _code(self, key: str, *, versions: bool) -> Mapping[str, str]:
        """The fingerprint of a scenario's code, with versions or without."""
        code = self.codes.get(key, {})
        return code if versions else {n: v for n, v in code.items() if v.startswith("#")}

    def versions(self, key: str) -> dict[str, str]:
        """The versions of Python and of the libraries that a scenario's code uses, by name."""
        code = self.codes.get(key, {})
        return {n: text for n, text in sorted(code.items()) if not text.startswith("#")}

    def differences(self, expected: "Provenance", key: str) -> list[str]:
        """List the differences, as text."""
        values = [each.values.get(key, "") for each in (self, expected)]
        return changed_fields(*values) + changes(self._entries(key), expected._entries(key))

    def _entries(self, key: str) -> dict[str, str]:
        settings = {name: str(value) for name, value in self.settings.items()}
        return {**settings, **self.codes.get(key, {})}

    def origin(self, key: str, *, versions: bool = True) -> str:
        """Hash the settings and the code of a scenario's blocks, once for all that share the code.

        Parameters
        ----------
        versions
            Whether versions count.
        """
        at = id(self.codes.get(key)), versions
        if at not in self._hashes:
            content = [self.settings, self._code(key, versions=versions)]
            self._hashes[at] = short_hash(json.dumps(content, sort_keys=True))
        return self._hashes[at]

    def digests(self) -> dict[str, str]:
        """Hash the provenance of each scenario's blocks, without versions, by key."""
        return {
            key: short_hash(f"{values}|{self.origin(key, versions=False)}")
            for key, values in self.values.items()
        }

    @cached_property
    def _hashes(self) -> dict[tuple[int, bool], str]:
        return {}

    @cached_property
    def libraries(self) -> dict[str, str]:
        """The libraries that the numbers depend on, with versions."""
        return dict(sorted(entry for key in self.codes for entry in self.versions(key).items()))


def changed_fields(stored: str, current: str) -> list[str]:
    """Name the fields of a scenario that differ, as text: "the scenario's shift=0.5 is gone"."""
    if stored == current:
        return []
    old, new = (re.findall(r"\w+=[^,)]+", text) for text in (stored, current))
    gone = [f"the scenario's {each} is gone" for each in old if each not in new]
    added = [f"the scenario's {each} is new" for each in new if each not in old]
    return gone + added or ["values or data of the scenario have changed"]


NO_PROVENANCE = Provenance({})
