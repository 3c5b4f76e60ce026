"""The provenance record in each file of blocks: settings, values and code.

Provenance belongs to blocks and not to folders. A run neither reads nor quarantines nor deletes
blocks of other provenance (another seed, other code, other data).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
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
        return json.dumps(content | _shared_and_own([*distinct.values()]), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Provenance":
        """Read from the JSON of a file; unknown if it has none."""
        try:
            content = json.loads(text)
            whole = [{**content.get("shared", {}), **own} for own in content["codes"]]
            codes = {key: whole[at] for key, at in content["code"].items()}
            return cls(content["settings"], content["values"], codes)
        except (ValueError, KeyError, IndexError, TypeError, AttributeError):
            return cls({"study": UNKNOWN})

    def matches(self, expected: "Provenance", key: str) -> bool:
        """Whether a scenario's blocks of this provenance can be used."""
        return self._same(expected, key) or not self.differences(expected, key)

    def _same(self, expected: "Provenance", key: str) -> bool:
        """Whether everything is equal: a fast check for the usual case."""
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
        found = self.setting_differences(expected)
        if self.settings.get("study") == UNKNOWN:
            return found
        was, now = self.values.get(key, ""), expected.values.get(key, "")
        found += [f"the scenario was {was} and is {now}"] if was != now else []
        return found + changes(self.codes.get(key, {}), expected.codes.get(key, {}))

    def setting_differences(self, expected: "Provenance") -> list[str]:
        """List the differences in settings, as text."""
        mine, theirs = self.settings, expected.settings
        if mine.get("study") == UNKNOWN:
            return ["its files do not state their provenance (an earlier version wrote them)"]
        return [
            f"{name} was {mine.get(name)} and is {theirs.get(name)}"
            for name in {**theirs, **mine}
            if mine.get(name) != theirs.get(name)
        ]

    def without_code(self) -> list[Any]:
        """The settings, the scenarios' values, and the options that methods hold."""
        options = {key: code.get(OWN_VALUES, "") for key, code in self.codes.items()}
        return [self.settings, self.values, options]

    def origin(self, key: str) -> str:
        """Hash the settings and the code of a scenario's blocks."""
        code = self.codes.get(key, {})
        known = self._origins.get(id(code))
        if known is None:
            known = short_hash(json.dumps([self.settings, code], sort_keys=True))
            self._origins[id(code)] = known
        return known

    def origins(self, keys: Iterable[str]) -> list[str]:
        """List the hashes of settings and code of some scenarios' blocks, each once."""
        return sorted({self.origin(key) for key in keys})

    @cached_property
    def _origins(self) -> dict[int, str]:
        return {}

    def digest_of_each(self, keys: Iterable[str]) -> dict[str, str]:
        """Hash the provenance of each scenario's blocks, without versions, by key."""
        settings = json.dumps(self.settings, sort_keys=True)
        distinct = {id(code): key for key, code in self.codes.items()}
        digests = {
            at: short_hash(json.dumps(self._code(key), sort_keys=True))
            for at, key in distinct.items()
        }
        return {
            key: short_hash("|".join((settings, self.values[key], digests[id(self.codes[key])])))
            for key in keys
            if key in self.codes
        }

    @cached_property
    def libraries(self) -> dict[str, str]:
        """The libraries that the numbers depend on, with versions."""
        entries = {name: version for code in self.codes.values() for name, version in code.items()}
        return {n: version for n, version in sorted(entries.items()) if not version.startswith("#")}


def _shared_and_own(codes: Sequence[Fingerprint]) -> dict[str, Any]:
    """Split codes into the entries that all share and the remaining entries of each."""
    if len(codes) < 2:
        return {"codes": list(codes)}
    first, *others = codes
    shared = dict(set(first.items()).intersection(*(code.items() for code in others)))
    own = [{name: s for name, s in code.items() if name not in shared} for code in codes]
    return {"shared": shared, "codes": own}


NO_PROVENANCE = Provenance({})
