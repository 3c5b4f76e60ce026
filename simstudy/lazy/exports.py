"""Names of a package that are imported when they are first used."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def exports(
    package: str, homes: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package.

    Parameters
    ----------
    homes
        The names that the package offers, by the module below it that holds them.
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def attribute(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{home_of[name]}"), name)

    return attribute, lambda: sorted(home_of)
