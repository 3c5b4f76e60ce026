"""The design of a study: scenarios, grids and the plan of a run."""

from simstudy.design.grid import *  # noqa: F403
from simstudy.design.grid import __all__ as __all__
