"""What was found, what is under way, and the text of any value."""

import hashlib
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from simstudy.identity.fingerprint.drift import settled
from simstudy.identity.fingerprint.modules.libraries import library
from simstudy.identity.fingerprint.modules.places import is_project
from simstudy.identity.fingerprint.plain_values import UnknownValueError, plain_token
from simstudy.identity.fingerprint.what_counts import STATES, is_passed_over


@dataclass
class Walk:
    """What was found, and what is under way.

    Parameters
    ----------
    follow
        Gives the text of a value that is not plain, from where it is bound.
    with_exact
        Whether methods named `exact` count.
    without_main
        Whether to leave out what only the process that was started has.

    Attributes
    ----------
    found
        Definition, constant, module or library -> hash or version.
    unfollowed
        What has neither source nor content, so that nobody can say whether it changed.
    compiled
        numba's dispatchers that were met, by where they are bound.
    remembering
        Functions that were met and keep what they returned.
    attributes, strings
        All that code which was followed reads off something, and its texts.
    entries
        Hashes by the key that they will have in `found`.
    taking_part
        Modules of the project of which anything was followed.
    wholes
        Modules that count with all of their source.
    bound
        Names of modules that were entered as constants.
    """

    follow: Callable[["Walk", Any, str], str]
    with_exact: bool = False
    without_main: bool = False
    found: dict[str, str] = field(default_factory=dict)
    unfollowed: dict[str, str] = field(default_factory=dict)
    compiled: dict[str, Any] = field(default_factory=dict)
    remembering: list[Any] = field(default_factory=list)
    attributes: set[str] = field(default_factory=set)
    strings: set[str] = field(default_factory=set)
    entries: dict[str, set[str]] = field(default_factory=dict)
    taking_part: set[str] = field(default_factory=set)
    wholes: set[str] = field(default_factory=set)
    bound: set[tuple[str, str]] = field(default_factory=set)
    _tokens: dict[int, tuple[object, str]] = field(default_factory=dict)
    _open: dict[int, object] = field(default_factory=dict)
    _libraries: set[str] = field(default_factory=set)

    # ------------------------------------------------------------ values
    def token(self, value: object, where: str) -> str:
        """Text that is the same where a value is; code in it is followed."""
        if id(value) in self._tokens:
            return self._tokens[id(value)][1]
        if id(value) in self._open:
            return f"<{type(value).__qualname__} again>"
        if type(value) is str:
            self.strings.add(value)
        self._open[id(value)] = value
        try:
            return plain_token(value, lambda inner: self.token(inner, where))
        except UnknownValueError:
            made = self.follow(self, value, where)
        finally:
            self._open.pop(id(value), None)
        return self.remember(value, made)

    def tokens(self, values: Iterable[object], where: str, between: str = ",") -> str:
        """The texts of several values."""
        return between.join([self.token(value, where) for value in values])

    def remember(self, value: object, text: str) -> str:
        """From now on this is the value's text: also where it comes up within itself."""
        self._tokens[id(value)] = (value, text)
        return text

    # ------------------------------------------------------------ notes
    def enter(self, key: str, digest: str) -> None:
        """Note a hash; several of one key (functions of a factory, say) count together."""
        self.entries.setdefault(key, set()).add(digest)

    def takes_part(self, module: str) -> None:
        """Note that something of a module was followed."""
        if is_project(module) and not self.is_left_out(module):
            self.taking_part.add(module)

    def is_left_out(self, module: str) -> bool:
        """Whether a module of the project is not asked what it says."""
        return (self.without_main and module == "__main__") or is_passed_over(module)

    def library(self, module: str) -> None:
        """Count a module from elsewhere by what it belongs to, and by its settings."""
        top = module.split(".")[0]
        if top in self._libraries or is_project(module):
            return
        self._libraries.add(top)
        known = library(module)
        if known:
            self.found[known[0]] = known[1]
        if top in STATES and top in sys.modules:
            state = STATES[top](sys.modules[top])
            if state is not None:
                self.enter(f"{top} (its settings)", hash_of(repr(state)))

    def settle(self) -> None:
        """The fingerprint, in order: everything has been entered."""
        self.found["python"] = f"{sys.version_info.major}.{sys.version_info.minor}"
        self.found |= {key: _joint(hashes) for key, hashes in self.entries.items()}
        self.found = dict(sorted(settled(self.found).items()))


def hash_of(text: str) -> str:
    """Sixteen hexadecimal digits for a text, whatever characters are in it."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


def _joint(hashes: Iterable[str]) -> str:
    """One hash for a key."""
    several = sorted(hashes)
    return "#" + (several[0][:16] if len(several) == 1 else hash_of("|".join(several)))
