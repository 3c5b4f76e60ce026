"""Late imports of heavy libraries, which a run with nothing to do does not need.

Their imports would double the time of such a run. A module uses `from simstudy.lazy import pd` and
`from __future__ import annotations`; without the latter, a return type `pd.DataFrame` would start
the import. `exports` does the same for the names of a package.
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

__all__ = ["LazyModule", "exports", "ggplot", "optimize", "p9", "pc", "pd", "special", "stats"]


class LazyModule:
    """A module that is imported when an attribute is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(importlib.import_module(self._name), attribute)
        setattr(self, attribute, found)
        return found

    def __reduce__(self) -> Any:
        """Send the name only, so that it is lazy in another process as well."""
        return LazyModule, (self._name,)


if TYPE_CHECKING:
    import pandas as pd
    import plotnine as p9
    import pyarrow.compute as pc
    from plotnine import ggplot
    from scipy import optimize, special, stats
else:
    p9 = LazyModule("plotnine")
    pc = LazyModule("pyarrow.compute")
    pd = LazyModule("pandas")
    optimize = LazyModule("scipy.optimize")
    special = LazyModule("scipy.special")
    stats = LazyModule("scipy.stats")
    ggplot = Any  # used in return types only; the class itself would need an import


def exports(
    package: str, homes: Mapping[str, Sequence[str]], packages: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make `__getattr__` and `__dir__` for a package that imports its names on first use.

    Parameters
    ----------
    homes
        Public names of the package, by the submodule that defines them.
    packages
        Names of subpackages that are attributes of the package, too.
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def attribute(name: str) -> Any:
        if name in packages:
            return importlib.import_module(f"{package}.{name}")
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{home_of[name]}"), name)

    return attribute, lambda: sorted([*home_of, *packages])
