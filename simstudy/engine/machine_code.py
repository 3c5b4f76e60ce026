"""Keeps the machine code of users' numba functions up to date with their source."""

import json
import weakref
from collections.abc import Sequence
from typing import Any

from simstudy.errors import StudyError
from simstudy.provenance.fingerprint import trace
from simstudy.provenance.scenario_id import short_hash

_made_of: "weakref.WeakKeyDictionary[Any, str]" = weakref.WeakKeyDictionary()


def drop_stale_machine_code(functions: Sequence[Any]) -> None:
    """Compile users' numba functions again whose helpers or constants changed in this process.

    Parameters
    ----------
    functions
        Numba dispatchers, each after those that it calls. Functions of simstudy are skipped: their
        cache is named by content.

    Raises
    ------
    StudyError
        For a changed function that cannot be compiled again, and for any with `cache=True`.
    """
    theirs = [f for f in functions if not str(f.__module__).startswith("simstudy.")]
    for function, traced in zip(theirs, trace([(f,) for f in theirs]), strict=True):
        if getattr(getattr(function, "stats", None), "cache_path", None):
            raise StudyError(
                f"{function.__module__}.{function.__name__} is compiled with cache=True: numba "
                "would use its stored machine code even if a helper in another file changes. "
                "Leave cache=True out."
            )
        digest = short_hash(json.dumps([traced.tokens, traced.found], sort_keys=True), 32)
        is_changed = _made_of.setdefault(function, digest) != digest
        if is_changed and not hasattr(function, "recompile"):
            raise StudyError(
                f"{function.__module__}.{function.__name__} is a compiled function whose source "
                "has changed in this process, so its numbers would be those of the old code. Start "
                "again in a new process (a notebook: restart the kernel)."
            )
        if is_changed:
            function.recompile()
            _made_of[function] = digest
