"""The design of a study: scenarios, grids and the plan of a run."""

from simstudy.design.grid import (
    AnyScenario,
    Columns,
    DrawsData,
    Exact,
    Grid,
    HasExact,
    PlainFactor,
    Scenario,
    ScenarioT,
    Simulates,
    ZippedFactors,
    check_distinct,
    grid,
    scenario_key,
    zipped,
)

__all__ = [
    "AnyScenario",
    "Columns",
    "DrawsData",
    "Exact",
    "Grid",
    "HasExact",
    "PlainFactor",
    "Scenario",
    "ScenarioT",
    "Simulates",
    "ZippedFactors",
    "check_distinct",
    "grid",
    "scenario_key",
    "zipped",
]
