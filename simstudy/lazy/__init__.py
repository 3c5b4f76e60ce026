"""Libraries at their first use: a run that has nothing to do needs none of them.

Together they take as long to import as everything else that such a run does. A module says
`from simstudy.lazy.pandas import pd` and, so that the return type `pd.DataFrame` is not a use,
`from __future__ import annotations`. One file for each library, so that what a module may not
import it cannot import late either.
"""

import importlib
from typing import Any


class LazyModule:
    """A module that is imported when one of its names is first asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(importlib.import_module(self._name), attribute)
        setattr(self, attribute, found)
        return found

    def __reduce__(self) -> Any:
        """In another process it is late as well."""
        return LazyModule, (self._name,)
