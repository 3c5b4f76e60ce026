"""Monte Carlo simulation studies: vectorized, reproducible, every number with its error.

The names for a study are imported when they are first used:

    from simstudy import Study, grid
    from simstudy.measures import bias, coverage
"""

from typing import TYPE_CHECKING

from simstudy.lazy import exports

if TYPE_CHECKING:
    from simstudy.analysis.loaded import load
    from simstudy.analysis.result import Result
    from simstudy.claims import Claim, Finding, IntendedValue, Uncheckable, WrongValue
    from simstudy.data.parts import Data
    from simstudy.design import Columns, grid, zipped
    from simstudy.engine.methods import each_replicate
    from simstudy.external.from_frame import from_file, from_frame
    from simstudy.options import option, published
    from simstudy.output.folder import publish
    from simstudy.output.verify import verify
    from simstudy.provenance.streams import Streams, seeded_globals
    from simstudy.study import Rules, RunOptions, Study

__version__ = "0.1.0"

__all__ = [
    "Claim",
    "Columns",
    "Data",
    "Finding",
    "IntendedValue",
    "Result",
    "Rules",
    "RunOptions",
    "Streams",
    "Study",
    "Uncheckable",
    "WrongValue",
    "each_replicate",
    "from_file",
    "from_frame",
    "grid",
    "load",
    "option",
    "publish",
    "published",
    "seeded_globals",
    "verify",
    "zipped",
]

_HOMES = {
    "analysis.loaded": ("load",),
    "analysis.result": ("Result",),
    "claims": ("Claim", "Finding", "IntendedValue", "WrongValue", "Uncheckable"),
    "data.parts": ("Data",),
    "design": ("Columns", "grid", "zipped"),
    "external.from_frame": ("from_file", "from_frame"),
    "engine.methods": ("each_replicate",),
    "provenance.streams": ("Streams", "seeded_globals"),
    "options": ("option", "published"),
    "output.folder": ("publish",),
    "output.verify": ("verify",),
    "study": ("Rules", "RunOptions", "Study"),
}

_PACKAGES = ("figures", "measures", "tables", "testing")

__getattr__, __dir__ = exports(__name__, _HOMES, _PACKAGES)
