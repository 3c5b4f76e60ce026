"""The design of a study: scenarios, grids of them, and the plan of a run."""

from simstudy.design.grid import (
    AnyScenario,
    Columns,
    DrawsData,
    Exact,
    Grid,
    HasExact,
    Linked,
    PlainFactor,
    Scenario,
    ScenarioT,
    Simulates,
    check_distinct,
    grid,
    scenario_key,
    together,
)

__all__ = [
    "AnyScenario",
    "Columns",
    "DrawsData",
    "Exact",
    "Grid",
    "HasExact",
    "Linked",
    "PlainFactor",
    "Scenario",
    "ScenarioT",
    "Simulates",
    "check_distinct",
    "grid",
    "scenario_key",
    "together",
]
