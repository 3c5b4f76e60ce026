"""Monte Carlo simulation studies: vectorized, reproducible, every number with its error.

The names that a study needs, imported when they are first used:

    from simstudy import Study, grid
    from simstudy.measures import bias, coverage
"""

from typing import TYPE_CHECKING

from simstudy.data import reads as _reads
from simstudy.lazy.exports import exports

_reads.install()

if TYPE_CHECKING:
    from simstudy.analysis.result import Result
    from simstudy.claims import Claim, Reproduced
    from simstudy.data.parts import Data
    from simstudy.design import Columns, grid, together
    from simstudy.engine.failures import by_method
    from simstudy.engine.replicates import each_replicate
    from simstudy.engine.workers import Workers
    from simstudy.identity.streams import Streams
    from simstudy.options import option, published
    from simstudy.study import Study

__all__ = [
    "Claim",
    "Columns",
    "Data",
    "Reproduced",
    "Result",
    "Streams",
    "Study",
    "Workers",
    "by_method",
    "each_replicate",
    "grid",
    "option",
    "published",
    "together",
]

_HOMES = {
    "analysis.result": ("Result",),
    "claims": ("Claim", "Reproduced"),
    "data.parts": ("Data",),
    "design": ("Columns", "grid", "together"),
    "engine.failures": ("by_method",),
    "engine.replicates": ("each_replicate",),
    "engine.workers": ("Workers",),
    "identity.streams": ("Streams",),
    "options": ("option", "published"),
    "study": ("Study",),
}

__getattr__, __dir__ = exports(__name__, _HOMES)
