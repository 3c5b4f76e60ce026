"""Scenarios and methods that go wrong, each in a way of its own, and how each study has to end.

A case has a `simulate` (or a `draw` and a method), what the study says beside it, and its end:
refused with a text before anything is stored, or so many failed replicates with a text, or a
remark; or nothing to see, where what looks odd is right.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simstudy.engine.methods import each_replicate
from simstudy.errors import AlwaysFailsError, StudyError
from simstudy.measures import bias, mean
from simstudy.study import Study
from tests.support import with_rules

SIZE, N_REP = 20, 40
TRUTHS = np.array([1.0, 2.0, 3.0])
METHODS = {"method": ("one", "two")}
CELLS = {"method": ("one", "two"), "coefficient": ("a", "b", "c")}


@dataclass(frozen=True)
class Hostile:
    """Simulates as it is told, which is no factor: it has the name of its case."""

    case: str
    truth: float = 0.0

    def simulate(self, streams, n_rep):
        return CASES[self.case].simulate(streams, n_rep)


@dataclass(frozen=True)
class Drawing:
    case: str

    def draw(self, streams, n_rep):
        return CASES[self.case].simulate(streams, n_rep)


@dataclass(frozen=True)
class Case:
    simulate: Callable[..., Any]
    refused: str = ""
    kind: type[Exception] = StudyError
    n_failed: int = 0
    error: str = ""
    noticed: str = ""
    warned: int = 0
    mean: float | None = None
    study: dict[str, Any] = field(default_factory=dict)

    def study_of(self, name):
        declared = {"measures": [mean("x")], "block_size": SIZE, "n_rep": N_REP, **self.study}
        if hasattr(self.simulate, "methods"):
            declared["methods"] = self.simulate.methods
        scenario = Drawing(name) if "methods" in declared else Hostile(name)
        return Study("hostile", [scenario], **with_rules(declared))


def normal(streams, n_rep, *shape):
    return streams("data").standard_normal((n_rep, *shape))


def misspelt_name(streams, n_rep):
    return {"x": normal(streams, n_rep) + ofset}  # noqa: F821


def misspelt_key(streams, n_rep):
    return {"x": {"mean": 1.0}["maen"]}


def wrong_argument(streams, n_rep):
    return {"x": np.mean(normal(streams, n_rep), axsi=1)}


def analysed_by(**methods):
    """Data of three numbers in each replicate, and methods of them."""

    def draw(streams, n_rep):
        return {"z": normal(streams, n_rep, 3)}

    draw.methods = methods
    return draw


def row_by_row(analyse, **given):
    return analysed_by(m=each_replicate(lambda z: analyse(z), **given))


def of_two(second):
    return analysed_by(one=lambda z: {"x": z[:, 0]}, two=lambda z: second(z[:, 0]))


def raises(*_args, **_given):
    raise LookupError("there is no such thing")


def exits(streams, n_rep):
    raise SystemExit(3)


def in_the_second_block(streams, n_rep):
    if streams.block == 1:
        raise ArithmeticError("overflow in block 1")
    return {"x": normal(streams, n_rep)}


def own_numbers(x):
    raise ValueError(f"no solution at {x[0]}")


class Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError("no words")


def sometimes(error):
    def analyse(x):
        if x[0] > 1:
            raise error() if isinstance(error, type) else error
        return float(x[0])

    return row_by_row(analyse, returns="x")


def text_of_surrogates(streams, n_rep):
    return {"x": normal(streams, n_rep), "label": np.array(["\ud800"] * n_rep, dtype=object)}


def error_of_its_own(streams, n_rep):
    errors = np.full(n_rep, None, dtype=object)
    errors[0] = "<script>alert('\udcff')</script>" + "x" * 10_000
    return {"x": normal(streams, n_rep), "error": errors}


def masked(streams, n_rep):
    return {"x": np.ma.masked_array(np.full(n_rep, 2.0), np.arange(n_rep) == 0)}


def masked_large(z):
    x = np.ma.masked_array(np.full(len(z), 2.0), np.arange(len(z)) == 0)
    x.data[0] = 1e9
    return {"x": x}


def masked_by_method():
    return analysed_by(one=masked_large, two=lambda z: {"x": np.full(len(z), 2.0)})


def masked_number(x):
    return np.ma.masked_array([1e9], [True])[0] if x[0] > 1 else 2.0


def by_block(*columns):
    def simulate(streams, n_rep):
        return {"x": columns[streams.block % len(columns)](n_rep)}

    return simulate


def nan_first(n_rep):
    return np.where(np.arange(n_rep) == 0, np.nan, 1.0)


def truths(n_rep):
    return np.ones(n_rep, dtype=bool)


def whole(n_rep):
    return np.ones(n_rep, dtype=int)


def unsigned(n_rep):
    return np.ones(n_rep, dtype=np.uint64)


def text(n_rep):
    return np.full(n_rep, "one")


def constant(value, dtype=None):
    return lambda streams, n_rep: {"x": np.full(n_rep, value, dtype=dtype)}


def returning(make):
    return lambda streams, n_rep: make(normal(streams, n_rep))


def rows_of_cells(x):
    if x[0] > 1:
        raise ValueError("no fit")
    return {"x": x}


def cells_that_fail():
    one_by_one = each_replicate(lambda z: rows_of_cells(z))
    return analysed_by(one=one_by_one, two=lambda z: {"x": z})


def truth_of_each(streams, n_rep):
    x = normal(streams, n_rep, 2, 3)
    return {"x": x + TRUTHS, "true": np.broadcast_to(TRUTHS, (n_rep, 3))}


def truth_of_one_row(streams, n_rep):
    return {"x": normal(streams, n_rep, 2, 3) + TRUTHS, "true": TRUTHS.reshape(1, 1, 3)}


def own_generator(streams, n_rep):
    return {"x": np.random.default_rng(0).standard_normal(n_rep)}


def fresh_generator(streams, n_rep):
    return {"x": np.random.default_rng().standard_normal(n_rep)}


def own_data(streams, n_rep):
    return {"z": np.random.default_rng(7).standard_normal(n_rep)}


def taken(z):
    return {"x": z}


def exact(streams, n_rep):
    return {"x": np.float64(3.0), "y": np.full(n_rep, 4.0)}


def warns(x):
    warnings.warn("did not converge [red]", RuntimeWarning, stacklevel=1)
    return float(x[0])


def data(streams, n_rep):
    return {"z": normal(streams, n_rep)}


def slow(z):
    time.sleep(0.0001)
    return {"x": float(z)}


def wants(absent):
    return {"x": absent}


MISTAKE = {"kind": AlwaysFailsError}
COEFFICIENTS = {"axes": CELLS, "measures": [bias("x", truth="true")]}

CASES = {
    # mistakes
    "a name": Case(misspelt_name, r"all 20 replicates of the first block.*NameError", **MISTAKE),
    "a key": Case(misspelt_key, r"KeyError: 'maen', in .*hostile\.py, line \d+", **MISTAKE),
    "an argument": Case(wrong_argument, r"TypeError: .*'axsi'", **MISTAKE),
    "each row": Case(row_by_row(raises, returns="x"), "LookupError: there is no", **MISTAKE),
    "an array for a number": Case(
        row_by_row(lambda x: x, returns="x"), r"x has shape \(3,\), not one number"
    ),
    "one method of two": Case(
        of_two(raises), "method two of .* all 20 .*LookupError", **MISTAKE
    ),
    "a method's short column": Case(
        of_two(lambda x: {"x": x[:5]}), r"method two of .*\(5,\)"
    ),
    "a method's rows": Case(
        analysed_by(
            one=lambda z: {"x": z[:, 0]}, two=each_replicate(lambda z: raises(), returns="x")
        ),
        "LookupError", **MISTAKE,
    ),
    "an exit": Case(exits, "failed with SystemExit: 3", **MISTAKE),
    "no data": Case(
        raises, "method m of .*LookupError", **MISTAKE, study={"methods": {"m": taken}}
    ),
    "a method of data": Case(
        data, "method m of .*LookupError", **MISTAKE,
        study={"methods": {"m": each_replicate(lambda z: raises(), returns="x")}},
    ),
    "a mistake that may be": Case(
        of_two(raises), n_failed=N_REP, error="LookupError: there is no such thing",
        study={"max_failed": 1},
    ),
    "all of it may fail": Case(
        raises, n_failed=N_REP, error="LookupError", study={"axes": METHODS, "max_failed": 1}
    ),
    "more than may fail": Case(
        in_the_second_block, r"20 of 40 replicates failed, more than max_failed=0\.25",
        study={"max_failed": 0.25},
    ),
    "as many as may fail": Case(
        in_the_second_block, n_failed=SIZE, error="ArithmeticError: overflow in block 1",
        study={"max_failed": 0.5},
    ),
    "a later block": Case(in_the_second_block, n_failed=SIZE, error="ArithmeticError"),
    "each with its own error": Case(
        row_by_row(own_numbers, returns="x"),
        n_failed=N_REP,
        error="ValueError: no solution at",
        study={"max_failed": 1},
    ),
    # texts
    "markup": Case(sometimes(ValueError("[red]no[/red] [/]")), n_failed=-1, error=r"\[red\]no"),
    "a script": Case(sometimes(ValueError("<script>x</script>")), n_failed=-1, error="<script>x"),
    "a surrogate": Case(sometimes(ValueError("\ud800")), n_failed=-1, error=r"ValueError: \\ud800"),
    "no text at all": Case(sometimes(Unspeakable), n_failed=-1, error="cannot be had: .*Run"),
    "a book": Case(sometimes(ValueError("x" * 5_000_000)), n_failed=-1, error=r"5,000,000 letters"),
    "lines": Case(sometimes(ValueError("one\n  two\0")), n_failed=-1, error="ValueError: one two"),
    "a column of surrogates": Case(text_of_surrogates),
    "errors of its own": Case(error_of_its_own, n_failed=2, error=r"<script>alert\('\\udcff'\)"),
    # columns
    "a mask": Case(masked, n_failed=2, error="NaN in x", mean=2.0),
    "a mask that may be": Case(masked, mean=2.0, study={"may_be_missing": ("x",)}),
    "a method's mask": Case(
        masked_by_method(), n_failed=2, error="NaN in x", mean=2.0,
        study={"across_replicates": ("one",)},
    ),
    "a masked number": Case(
        row_by_row(masked_number, returns="x"), n_failed=-1, error="NaN in x", mean=2.0
    ),
    "truth, then a double": Case(by_block(truths, nan_first), n_failed=1, error="NaN", mean=1.0),
    "a double, then truth": Case(by_block(nan_first, truths), n_failed=1, error="NaN", mean=1.0),
    "whole, then truth": Case(by_block(whole, truths), mean=1.0),
    "whole, then unsigned": Case(by_block(whole, unsigned), mean=1.0),
    "whole, then a double": Case(by_block(whole, nan_first), n_failed=1, error="NaN", mean=1.0),
    "numbers, then text": Case(by_block(whole, text), "'x' is of one type in some blocks and"),
    "a number beyond doubles": Case(constant(2**53 + 1), "9007199254740993, a whole number beyond"),
    "unsigned and larger": Case(constant(2**63 + 1, np.uint64), "beyond 2.53"),
    "complex": Case(returning(lambda x: {"x": x + 1j}), "holds complex128: return booleans"),
    "a list of columns": Case(returning(lambda x: [x]), "returned list, not columns by name"),
    "nothing": Case(returning(lambda x: None), "returned NoneType, not columns by name"),
    "a factor's name": Case(returning(lambda x: {"x": x, "truth": x})),
    "a factor's value": Case(returning(lambda x: {"x": x, "truth": 0.0})),
    "no such column": Case(
        returning(lambda x: {"y": x}), "measure 'mean_x' reads column 'x', which is neither"
    ),
    "a factor is the truth": Case(
        returning(lambda x: {"x": x}), study={"measures": [bias("x", truth="truth"), mean("x")]}
    ),
    # axes
    "rows in cells": Case(
        cells_that_fail(), n_failed=-1, error="ValueError: no fit",
        study={"axes": {"coefficient": CELLS["coefficient"]}},
    ),
    "a truth for each": Case(truth_of_each, study=COEFFICIENTS),
    "a truth in one row": Case(truth_of_one_row, study=COEFFICIENTS),
    "axes of one size": Case(
        returning(lambda x: {"x": np.stack([x, x], axis=1)}), "could be method or twin, which have",
        study={"axes": {"method": ("one", "two"), "twin": ("a", "b")}},
    ),
    # random numbers
    "a generator of its own": Case(own_generator, noticed="uses none of its random streams"),
    "a generator of no seed": Case(fresh_generator, noticed="uses none of its random streams"),
    "data of its own": Case(
        own_data, noticed="uses none of its random streams", study={"methods": {"m": taken}}
    ),
    "nothing random": Case(exact, mean=3.0),
    # warnings, methods
    "warnings": Case(row_by_row(warns, returns="x"), warned=N_REP),
    "one by one": Case(data, study={"methods": {"m": each_replicate(slow)}}),
    "data that are not drawn": Case(
        data, "method 'm' has the parameter 'absent'", study={"methods": {"m": wants}}
    ),
}  # fmt: skip
