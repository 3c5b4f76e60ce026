"""Monte Carlo simulation studies: vectorized, reproducible, every number with its error.

The names that a study needs, imported when they are first used:

    from simstudy import Study, grid
    from simstudy.measures import bias, coverage
"""

from typing import TYPE_CHECKING

from simstudy.data import read_audit as _reads
from simstudy.lazy import exports

_reads.install()

if TYPE_CHECKING:
    from simstudy.analysis.result import Result
    from simstudy.claims import Claim, Reproduced, Right, Rival, Uncheckable
    from simstudy.data.parts import Data
    from simstudy.design import Columns, grid, together
    from simstudy.engine.failures import by_method
    from simstudy.engine.replicates import each_replicate
    from simstudy.engine.workers import Workers
    from simstudy.external.from_frame import from_file, from_frame
    from simstudy.external.stored_result import load
    from simstudy.identity.streams import Streams
    from simstudy.options import option, published
    from simstudy.study import Study

__version__ = "0.1.0"

__all__ = [
    "Claim",
    "Columns",
    "Data",
    "Reproduced",
    "Result",
    "Right",
    "Rival",
    "Streams",
    "Study",
    "Uncheckable",
    "Workers",
    "by_method",
    "each_replicate",
    "from_file",
    "from_frame",
    "grid",
    "load",
    "option",
    "published",
    "together",
]

_HOMES = {
    "analysis.result": ("Result",),
    "claims": ("Claim", "Reproduced", "Right", "Rival", "Uncheckable"),
    "data.parts": ("Data",),
    "design": ("Columns", "grid", "together"),
    "external.from_frame": ("from_file", "from_frame"),
    "engine.failures": ("by_method",),
    "engine.replicates": ("each_replicate",),
    "engine.workers": ("Workers",),
    "identity.streams": ("Streams",),
    "options": ("option", "published"),
    "external.stored_result": ("load",),
    "study": ("Study",),
}

__getattr__, __dir__ = exports(__name__, _HOMES)
