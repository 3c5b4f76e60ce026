"""A protocol has all sections, and names each thing that was done otherwise, and no other."""

import json
import re

import numpy as np
import pytest

from simstudy import Rules, Study, grid
from simstudy.errors import StoreError
from simstudy.measures import bias, mean, rejection_rate
from simstudy.output.protocol import RECORD, TEXT, read_protocol
from tests.output.planned_trial import MEASURES, METHODS, Trial, plain, run, trial


def bold(x, p, level):
    return {"estimate": x, "reject": p <= 2 * level}


def deviations(planned, done, tmp_path, n_rep=100, seed=1):
    """Of a study that was planned as one and done as another."""
    protocol = planned.protocol(100)
    return protocol.deviations(run(done, tmp_path, n_rep, seed))


def test_as_planned_is_no_deviation_whatever_computes_and_keeps_it(tmp_path):
    protocol = trial().protocol(100, out=tmp_path)
    assert protocol.deviations(run(trial(), tmp_path)) == []
    assert read_protocol(tmp_path / "trial").deviations(run(trial(), tmp_path)) == []


@pytest.mark.parametrize(
    ("done", "how", "said"),
    [
        ({}, {"n_rep": 150}, "replicates: planned 100 in each scenario, done 150 in each scenario"),
        ({}, {"seed": 2}, "seed: planned 1, done 2"),
        ({"levels": (0.05, 0.3)}, {}, "scenarios: planned 2, done 2 (left out: Trial(level=0.2). "
         "added: Trial(level=0.3))"),
        ({"methods": {"plain": plain}}, {}, "method: planned plain, cautious, done plain (left "
         "out: cautious)"),
        ({"methods": {**METHODS, "bold": bold}}, {}, "method: planned plain, cautious, done "
         "plain, cautious, bold (added: bold)"),
        ({"measures": [*MEASURES, mean("estimate")]}, {}, "(added: mean_estimate)"),
        ({"measures": [MEASURES[0], bias("estimate", truth=0.5), MEASURES[2]]}, {},
         "(computed otherwise: bias)"),
        ({"methods": {**METHODS, "plain": bold}}, {}, "(computed otherwise: plain)"),
        ({"block_size": 20}, {}, "block size: planned 50, done 20"),
        (
            {"rules": Rules(max_failed=0.5)}, {},
            "failures: planned record, done record, at most 50.000%",
        ),
    ],
)  # fmt: skip
def test_each_thing_done_otherwise_is_named_alone(done, how, said, tmp_path):
    found = deviations(trial(), trial(**done), tmp_path, **how)
    assert len(found) == 1
    assert said in found[0]


def test_a_protocol_says_that_it_came_late(tmp_path):
    assert not trial().protocol(100, out=tmp_path).was_drawn
    assert sorted(path.name for path in (tmp_path / "trial").iterdir()) == [RECORD, TEXT]
    run(trial(), tmp_path)
    for name in (RECORD, TEXT):
        (tmp_path / "trial" / name).unlink()
    late = trial().protocol(100, out=tmp_path)
    assert "**Blocks of the study had been drawn already.**" in str(late)
    (said,) = read_protocol(tmp_path / "trial").deviations(run(trial(), tmp_path))
    assert said == "it was written after blocks had been drawn"


def test_the_same_plan_keeps_what_a_person_wrote_and_another_is_refused(tmp_path):
    first = trial().protocol(100, out=tmp_path)
    text = tmp_path / "trial" / TEXT
    text.write_text(str(first).replace("[to fill in: who takes part", "Ada and ["))
    again = trial().protocol(100, out=tmp_path)
    assert "Ada and [" in str(again)
    assert again.n_places == first.n_places - 1
    with pytest.raises(StoreError, match="another plan"):
        trial().protocol(200, out=tmp_path)
    with pytest.raises(StoreError, match="another plan"):
        trial().protocol(100, precision={"rejection_rate": 0.1}, out=tmp_path)
    (tmp_path / "trial" / RECORD).unlink()
    with pytest.raises(StoreError, match="may contain text of its author"):
        trial().protocol(100, out=tmp_path)
    assert "Ada and [" in text.read_text()


def test_a_record_that_was_edited_is_refused(tmp_path):
    protocol = trial().protocol(100, out=tmp_path)
    assert read_protocol(tmp_path / "trial") == protocol
    path = tmp_path / "trial" / RECORD
    record = json.loads(path.read_text())
    edited = record | {"planned": record["planned"] | {"replicates": "50 in each scenario"}}
    for text in (json.dumps(edited), json.dumps(record | {"planned": None}), "{"):
        path.write_text(text)
        with pytest.raises(StoreError, match="was changed after it was written"):
            read_protocol(tmp_path / "trial")


def test_a_measure_that_was_planned_to_be_precise_and_is_gone_is_missed(tmp_path):
    protocol = trial().protocol(100, precision={"rejection_rate": 0.1})
    without = trial(measures=[rejection_rate("reject", name="size")])
    found = protocol.deviations(run(without, tmp_path))
    assert "rejection_rate: planned a Monte Carlo error of at most 0.1, done not measured" in found


def test_replicates_that_a_precision_adds_are_planned(tmp_path):
    goal = {"rejection_rate": 0.02}
    protocol = trial().protocol(100, precision=goal)
    assert "then as many more as the errors below need. [to fill in" in str(protocol)
    drawn = trial().run(100, precision=goal, backend="inline")
    assert max(drawn.n_rep.values()) > 100
    assert not any("replicates: " in each for each in protocol.deviations(drawn))
    for others in ({"n_rep": 50, "precision": goal, "max_rep": 50}, {"n_rep": 150}):
        first, *_ = protocol.deviations(trial().run(**others, backend="inline"))
        done = f"done {others['n_rep']} in each scenario"
        assert first == f"replicates: planned 100 in each scenario, {done}"


# ---------------------------------------------------------------- its text
def sections(text):
    """By heading, what stands below it."""
    parts = re.split(r"^(##+ .*)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))


def test_no_section_is_empty_and_every_table_is_whole():
    text = str(trial().protocol(about=""))
    said = sections(text)
    numbered = [heading.split()[1] for heading in said]
    assert [number for number in numbered if "." not in number] == list("1234567")
    assert len(numbered) == 23
    empty = {heading.split()[1] for heading, text in said.items() if not text}
    assert empty == {number.partition(".")[0] for number in numbered if "." in number}
    assert said["## 2 Aims"].startswith("[to fill in: "), "it has no docstring"
    tables = re.findall(r"(?:^\|.*\|$\n?)+", text, flags=re.MULTILINE)
    assert len(tables) == 3, tables
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1


def test_what_the_study_knows_is_filled_in_and_the_rest_is_marked():
    protocol = trial(rules=Rules(max_failed=0.02)).protocol(seed=7)
    said = sections(str(protocol))
    assert said["### 1.1 Title"] == "Does a test keep its level?"
    assert said["## 2 Aims"] == "Whether the test keeps its level."
    assert said["## 4 Estimands and targets"].startswith("[to fill in: ")  # no such heading
    assert "| `level` | 2 | `0.05`, `0.2` |" in said["### 3.2 Factors"]
    assert "| `arms` | 1 | `2` |" in said["### 3.2 Factors"]
    assert "| `plain` | Reject where p is small. |" in said["## 5 Methods"]
    assert "| `cautious` | Reject where p is very small. |" in said["## 5 Methods"]
    assert "Σ1(rejects)/n | √(p(1 − p)/n)" in said["### 6.1 Measures and their Monte Carlo errors"]
    assert "more than 2.00% of each method's" in said["### 6.3 Failures and missing values"]
    assert "study.run(100, seed=7)" in said["### 7.3 Reproducibility"]
    assert protocol.n_places == str(protocol).count("[to fill in: ") > 5


def test_a_design_is_described_by_its_factors_and_conditions():
    many = grid(Trial, level=np.linspace(0.01, 0.5, 100), arms=range(2, 52))
    text = str(Study("many", many, methods=METHODS).protocol())
    assert len(text.splitlines()) < 130
    assert "**5,000 conditions**, each named in `protocol.json`." in text
