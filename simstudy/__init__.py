"""Monte Carlo simulation studies: vectorized, reproducible, every number with its error.

The names that a study needs, imported when they are first used:

    from simstudy import Study, grid
    from simstudy.measures import bias as bias
    from simstudy.measures import coverage as coverage
"""

from typing import TYPE_CHECKING

from simstudy.lazy import exports

if TYPE_CHECKING:
    from simstudy.analysis.result import Result as Result
    from simstudy.claims import Claim as Claim
    from simstudy.claims import Finding as Finding
    from simstudy.claims import IntendedQuantity as IntendedQuantity
    from simstudy.claims import Uncheckable as Uncheckable
    from simstudy.claims import WrongAlternative as WrongAlternative
    from simstudy.data.parts import Data as Data
    from simstudy.design import Columns as Columns
    from simstudy.design import grid as grid
    from simstudy.design import zipped as zipped
    from simstudy.engine.error_policy import by_method as by_method
    from simstudy.engine.per_replicate import each_replicate as each_replicate
    from simstudy.engine.workers import Workers as Workers
    from simstudy.external.from_frame import from_file as from_file
    from simstudy.external.from_frame import from_frame as from_frame
    from simstudy.external.stored_result import load as load
    from simstudy.options import option as option
    from simstudy.options import published as published
    from simstudy.provenance.streams import Streams as Streams
    from simstudy.study import Study as Study
    from simstudy.study import discover as discover
    from simstudy.study import method_grid as method_grid

__version__ = "0.1.0"

_HOMES = {
    "analysis.result": ("Result",),
    "claims": ("Claim", "Finding", "IntendedQuantity", "WrongAlternative", "Uncheckable"),
    "data.parts": ("Data",),
    "design": ("Columns", "grid", "zipped"),
    "external.from_frame": ("from_file", "from_frame"),
    "engine.error_policy": ("by_method",),
    "engine.per_replicate": ("each_replicate",),
    "engine.workers": ("Workers",),
    "provenance.streams": ("Streams",),
    "options": ("option", "published"),
    "external.stored_result": ("load",),
    "study": ("Study", "discover", "method_grid"),
}

_PACKAGES = ("figures", "measures", "tables", "testing")

__all__ = sorted(name for names in _HOMES.values() for name in names)
__getattr__, __dir__ = exports(__name__, _HOMES, _PACKAGES)
