"""A protocol has all sections, says what the study knows, and marks what it does not."""

import itertools
import re
import time

import numpy as np

from simstudy import Study, grid, together
from simstudy.output.protocol.design import designs_of
from tests.output.protocol.trial import METHODS, Trial, trial

HEADINGS = [
    "## 1 General information", "### 1.1 Title", "### 1.2 Authors", "### 1.3 Description",
    "### 1.4 Earlier studies", "### 1.5 Funding and interests", "## 2 Aims",
    "## 3 Data-generating mechanism", "### 3.1 How data are made", "### 3.2 Factors",
    "### 3.3 Conditions", "## 4 Estimands and targets", "## 5 Methods",
    "## 6 Performance measures", "### 6.1 Measures and their Monte Carlo errors",
    "### 6.2 Replicates", "### 6.3 Failures and missing values", "### 6.4 Interpretation",
    "## 7 Execution", "### 7.1 Software", "### 7.2 Environment", "### 7.3 Reproducibility",
    "### 7.4 Anything else",
]  # fmt: skip


def sections(text):
    """By heading, what stands below it."""
    parts = re.split(r"^(##+ .*)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))


def test_all_sections_are_there_in_order_and_none_is_empty():
    said = sections(str(trial().protocol(seed=7)))
    assert list(said) == HEADINGS
    pairs = itertools.pairwise(HEADINGS)
    above = {one for one, next_one in pairs if one[2] == " " and next_one[2] == "#"}
    assert {heading for heading, text in said.items() if not text} == above


def test_what_the_study_knows_is_filled_in_and_the_rest_is_marked():
    protocol = trial(max_failed=0.02).protocol(seed=7)
    said = sections(str(protocol))
    assert said["### 1.1 Title"] == "Does a test keep its level?"
    assert said["## 2 Aims"] == "Whether the test keeps its level."
    assert said["## 4 Estimands and targets"].startswith("[to fill in: ")  # no such heading
    assert r"`Trial`: A two-arm trial \| of anything." in said["### 3.1 How data are made"]
    assert "| `level` | 2 | `0.05`, `0.2` |" in said["### 3.2 Factors"]
    assert "`arms` `2`" in said["### 3.2 Factors"]
    assert "| `plain` | Reject where p is small. |" in said["## 5 Methods"]
    assert "With `by=4.0`." in said["## 5 Methods"]
    assert "Σ1(rejects)/n | √(p(1 − p)/n)" in said["### 6.1 Measures and their Monte Carlo errors"]
    assert "at most 0.05 (worst case)" in said["### 6.1 Measures and their Monte Carlo errors"]
    assert "more than 2.00% of each method's" in said["### 6.3 Failures and missing values"]
    assert "study.run(100, seed=7)" in said["### 7.3 Reproducibility"]
    assert protocol.n_places == str(protocol).count("[to fill in: ") > 5


def test_every_table_has_as_many_cells_in_every_row():
    tables = re.findall(r"(?:^\|.*\|$\n?)+", str(trial().protocol()), flags=re.MULTILINE)
    assert len(tables) == 3
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1


def test_without_a_docstring_all_of_its_headings_are_places():
    text = str(trial().protocol(about=""))
    assert sections(text)["## 2 Aims"].startswith("[to fill in: ")
    assert "the question in a line" in text


def test_thousands_of_scenarios_are_said_by_their_factors():
    study = Study(
        "many", grid(Trial, level=np.linspace(0.01, 0.5, 100), arms=range(2, 52)),
        methods=METHODS,
    )  # fmt: skip
    begun = time.perf_counter()
    text = str(study.protocol())
    assert time.perf_counter() - begun < 10
    assert len(text.splitlines()) < 120
    assert "**5,000 conditions**: full factorial, 100 × 50." in text


def test_factors_that_move_together_are_one_and_a_part_of_a_design_is_listed():
    (design,) = designs_of(grid(Trial, together(level=[0.1, 0.2, 0.3], arms=[2, 3, 4])))
    assert (design.groups, design.n_crossed) == ([["level", "arms"]], 3)
    part = [*grid(Trial, level=[0.1, 0.2], arms=[2, 3]), Trial(0.3, 2)]
    text = str(Study("part", part, methods=METHODS).protocol())
    assert "**5 conditions**, part of the 6 of a full factorial (3 × 2)." in text
    assert "| `0.3` | `2` |" in text
