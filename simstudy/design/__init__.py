"""The design of a study: scenarios, grids and the plan of a run."""

from simstudy.design.grid import AnyScenario as AnyScenario
from simstudy.design.grid import Columns as Columns
from simstudy.design.grid import Exact as Exact
from simstudy.design.grid import PlainFactor as PlainFactor
from simstudy.design.grid import Scenario as Scenario
from simstudy.design.grid import check_distinct as check_distinct
from simstudy.design.grid import grid as grid
from simstudy.design.grid import scenario_key as scenario_key
from simstudy.design.grid import zipped as zipped
