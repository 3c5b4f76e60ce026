"""The provenance record in each file of blocks: settings, values and code.

Provenance belongs to blocks and not to folders. A run neither reads nor quarantines nor deletes
blocks of other provenance (another seed, other code, other data).
"""

import json
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
        keys = list(keys)
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

    def matches(self, expected: "Provenance", key: str) -> bool:
        """Whether a scenario's blocks of this provenance can be used."""
        mine = self.settings, self.values.get(key), self.codes.get(key)
        return mine == (expected.settings, expected.values.get(key), expected.codes.get(key))

    def same_code(self, expected: "Provenance", key: str) -> bool:
        """Whether settings, values and code are equal; versions may differ."""
        mine = self.settings, self.values.get(key), self._code(key)
        return mine == (expected.settings, expected.values.get(key), expected._code(key))

    def _code(self, key: str) -> dict[str, str]:
        """The fingerprint of a scenario's code, without versions."""
        return {n: text for n, text in self.codes.get(key, {}).items() if text.startswith("#")}

    def versions(self, key: str) -> dict[str, str]:
        """The versions of Python and of the libraries that a scenario's code uses, by name."""
        code = self.codes.get(key, {})
        return {n: text for n, text in sorted(code.items()) if not text.startswith("#")}

    def differences(self, expected: "Provenance", key: str) -> list[str]:
        """List the differences, as text."""
        values = [{"the scenario": each.values.get(key, "")} for each in (self, expected)]
        return changes(*values) + changes(self._entries(key), expected._entries(key))

    def _entries(self, key: str) -> dict[str, str]:
        settings = {name: str(value) for name, value in self.settings.items()}
        return {**settings, **self.codes.get(key, {})}

    def origin(self, key: str) -> str:
        """Hash the settings and the code of a scenario's blocks."""
        return self._hash(key, versions=True)

    def digest_of_each(self, keys: Iterable[str]) -> dict[str, str]:
        """Hash the provenance of each scenario's blocks, without versions, by key."""
        return {
            key: short_hash(f"{self.values[key]}|{self._hash(key, versions=False)}")
            for key in keys
            if key in self.codes
        }

    def _hash(self, key: str, *, versions: bool) -> str:
        """Hash settings and code, once for all scenarios that share the code."""
        at = id(self.codes.get(key)), versions
        if at not in self._hashes:
            code = self.codes.get(key, {}) if versions else self._code(key)
            self._hashes[at] = short_hash(json.dumps([self.settings, code], sort_keys=True))
        return self._hashes[at]

    @cached_property
    def _hashes(self) -> dict[tuple[int, bool], str]:
        return {}

    @cached_property
    def libraries(self) -> dict[str, str]:
        """The libraries that the numbers depend on, with versions."""
        entries = {name: version for code in self.codes.values() for name, version in code.items()}
        return {n: version for n, version in sorted(entries.items()) if not version.startswith("#")}


NO_PROVENANCE = Provenance({})
