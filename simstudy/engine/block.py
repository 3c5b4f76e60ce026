"""Draws one block, or records its failure; replays one replicate."""

import itertools
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from simstudy import errors
from simstudy.data.parts import data_parts
from simstudy.design import AnyScenario, Scenario
from simstudy.design.plan import Plan, WorkUnit
from simstudy.engine import columns as column_checks
from simstudy.engine import error_policy, graceful_stop, independence, methods
from simstudy.engine.error_policy import BlockContext
from simstudy.engine.thread_limits import single_threaded
from simstudy.provenance.scenario_id import identity
from simstudy.store.arrow_schema import ERROR, MISSING, Block, counted_errors


class Address(NamedTuple):
    """The address of a replicate, for `replay`: `scenario-key/replicate`."""

    key: str
    rep: int

    def __str__(self) -> str:
        return f"{self.key}/{self.rep}"

    @classmethod
    def parse(cls, text: str) -> "Address":
        key, _, rep = text.partition("/")
        if not key or not rep.isdecimal():
            raise errors.StudyError(
                f"{text!r} is not the address of a replicate. Copy one from failures.parquet or "
                "the closing table; it reads like 3f2a90c1d4e5b678/1234."
            )
        return cls(key, int(rep))


def draw_block(
    plan: Plan,
    scenario: AnyScenario,
    index: int,
    cache: methods.DatasetCache | None = None,
    context: BlockContext | None = None,
    seconds: float | None = None,
) -> Block:
    """Draw one block; an exception is stored as text in all its rows, and the run continues.

    Columns that a study may not return are a mistake in the study, which is raised and not stored.
    The same holds for an error that all replicates of a first block share, unless the study sets
    `max_failed`.

    Parameters
    ----------
    cache
        The data drawn last, which another method may have analysed just before.
    context
        Collector of findings about the block. Default: a new one.
    seconds
        Time limit, after which the block has failed; None for no limit.
    """
    context = context or BlockContext.of_block(plan, index)
    try:
        with graceful_stop.time_limit(seconds):
            drawn = draw_columns(plan, scenario, index, cache, context)
            columns = column_checks.apply_derived_columns(plan, scenario, drawn)
            if context.refuses_all_failed:
                _refuse_nothing_but_nan(plan, columns)
            column_checks.check_columns_read(plan, scenario, columns)
    except errors.AlwaysFailsError as error:
        raise errors.AlwaysFailsError(f"{scenario!r}: {error}", error.frames) from error.__cause__
    except errors.StudyError as error:
        raise errors.StudyError(f"{scenario!r}: {error}") from error
    except errors.NotHereError as error:
        raise errors.NotHereError(f"{plan.name}: {error}") from error
    except graceful_stop.BlockTimeoutError:
        if seconds is None:  # it is the caller's
            raise
        return failed_block(plan, scenario, index, graceful_stop.timeout_message(seconds))
    except BaseException as error:  # also SystemExit: a method must not end the run
        if isinstance(error, KeyboardInterrupt) and graceful_stop.hears_ctrl_c():
            raise  # it may be the user's Ctrl-C
        if error_policy.lacks_library(error):
            raise error_policy.not_here(error, f"{plan.name}: {scenario!r}: ") from error
        machine = error_policy.is_machine_trouble(error)
        if context.refuses_all_failed and not machine:
            raise error_policy.always_fails(plan.block_size, error, f"{scenario!r}: ") from error
        return failed_block(plan, scenario, index, error_policy.reason(error), machine=machine)
    n_failed = column_checks.count_failed(plan, columns.get(ERROR))
    return Block(scenario, index, columns, n_failed, plan.key_of(scenario))


def _refuse_nothing_but_nan(plan: Plan, columns: Mapping[str, np.ndarray]) -> None:
    """Refuse a first block in which one column is NaN in every cell: a mistake in the study."""
    texts = set(np.ravel(counted_errors(plan, columns[ERROR]))) if ERROR in columns else set()
    text = texts.pop() if len(texts) == 1 else None
    if text and str(text).startswith(MISSING):
        raise errors.StudyError(
            f"{text} in all replicates of the first block, so every block would fail: correct the "
            "code that computes it. If NaN is a result, name the column in "
            "Rules(may_be_missing=...); if a method cannot work in some scenarios, "
            "Rules(max_failed=1) records that."
        )


def failed_block(
    plan: Plan, scenario: Scenario, index: int, reason: str, *, machine: bool = False
) -> Block:
    """Make a block in which every replicate failed."""
    columns = {ERROR: np.full(plan.block_size, reason, dtype=object)}
    return Block(scenario, index, columns, plan.block_size, plan.key_of(scenario), machine)


def draw_columns(
    plan: Plan,
    scenario: AnyScenario,
    index: int,
    cache: methods.DatasetCache | None = None,
    context: BlockContext | None = None,
) -> dict[str, np.ndarray]:
    """Call `simulate` or a method and check its columns: `(rep,)` or `(rep, *axes)`."""
    context = context or BlockContext.of_block(plan, index)
    for part in plan.cached(scenario, data_parts, lambda: [*data_parts(scenario)]):
        part.check()
    before, n_rep = plan.identity_of(scenario), plan.block_size
    streams = plan.streams(scenario, index)
    with np.errstate():  # changes by the study end with the call
        try:
            if not isinstance(scenario, WorkUnit):
                raw = scenario.simulate(streams, n_rep)
                independence.check_streams(context, scenario, streams, raw, n_rep)
                alone = partial(scenario.simulate, plan.streams(scenario, index), 1)
                independence.refuse_transposed(context, plan, raw, alone)
                columns = column_checks.validate_columns(plan, scenario, raw)
                independence.check_alike(context, scenario, columns)
                return columns
            draw = partial(_draw_data, plan, scenario.scenario, index, context)
            data = cache(scenario.scenario, index, draw) if cache else draw()
            hashes = methods.checksums(data) if index == 0 else {}
            raw = methods.call_method(scenario, data, streams, n_rep, plan.rules.vectors, context)
            methods.refuse_changed_data(scenario.method.name, hashes, data)
            if not isinstance(scenario.method.function, methods.EachReplicate):
                one, again = independence.some_rows(data, slice(1)), plan.streams(scenario, index)
                alone = partial(methods.call_method, scenario, one, again, 1)
                independence.refuse_transposed(context, plan, raw, alone)
            drawn = column_checks.drawn_columns(plan, scenario.method.axis, data, raw)
            read = {*plan.rules.vectors, *itertools.chain.from_iterable(plan.reads.values())}
            known = {name: column for name, column in drawn.items() if name in read}
            whole = {**raw, **known} if known else raw
            columns = {**drawn, **column_checks.validate_columns(plan, scenario, whole, "it")}
            independence.check_rows(context, plan, scenario, streams, data, columns)
            independence.check_alike(context, scenario, columns, data)
        finally:
            _refuse_changed(scenario, before)
    return {  # booleans as 0 and 1, so that methods may mix them with floats in one column
        name: column.astype(np.int8) if column.dtype.kind == "b" else column
        for name, column in columns.items()
    }


def replicate_at(plan: Plan, address: Address) -> dict[str, Any]:
    """Draw one replicate again, with its whole block; if it failed, raise its error.

    Returns
    -------
    dict
        The replicate's columns by name: a value, or an array over the axes.
    """
    plan = plan.work_units
    if address.key not in plan.keys:
        raise errors.ConfigError(
            f"replay={address}: study {plan.name!r} has no scenario {address.key} with these "
            "settings. Give the settings of the run that reported the address."
        )
    index, row = divmod(address.rep, plan.block_size)
    context, scenario = BlockContext.of_replay(plan, row), plan.keys[address.key]
    with single_threaded(), errors.listening_to_errors() as recorded:
        try:
            columns = draw_columns(plan, scenario, index, None, context)
        except (SystemExit, GeneratorExit) as end:
            raise errors.StudyError(
                f"{scenario!r}: drawing a block raised {errors.describe(end)}, which would end "
                "the program. Raise an ordinary exception there."
            ) from end
    texts = [text for text in np.ravel(columns[ERROR][row]) if text] if ERROR in columns else []
    for at, error in recorded:  # by the study's own code
        if at == row and any(text.startswith(errors.describe(error)) for text in texts):
            raise error
    return {name: column[row] for name, column in columns.items()}


def data_of(plan: Plan, scenario: Scenario, rep: int) -> dict[str, Any]:
    """Draw the data of one replicate, as the methods get them.

    Parameters
    ----------
    rep
        Number of the replicate in the scenario, from 0.

    Raises
    ------
    StudyError
        If the scenario simulates columns and draws no data.
    """
    if not (hasattr(scenario, "draw") or hasattr(scenario, "draw_one")):
        raise errors.StudyError(
            f"{scenario!r} simulates columns and draws no data to show: use replay with a "
            "replicate's address to get its columns."
        )
    index, row = divmod(rep, plan.block_size)
    with single_threaded():
        data = _draw_data(plan, scenario, index, BlockContext.of_replay(plan, row))
    return {n: v[row] if methods.has_rows(v) else v for n, v in data.items()}


def _draw_data(
    plan: Plan, scenario: AnyScenario, index: int, context: BlockContext
) -> methods.Data:
    """Call `draw` or `draw_one`, and check the data."""
    streams, n_rep = plan.streams(scenario, index), plan.block_size
    with np.errstate():
        if hasattr(scenario, "draw_one"):
            raw = methods.drawn_one_by_one(scenario, streams, n_rep, context)
        else:
            raw = scenario.draw(streams, n_rep)
        data = methods.checked_data(scenario, raw, n_rep)
    independence.check_streams(context, scenario, streams, data, n_rep)
    return data


def _refuse_changed(scenario: Scenario, before: str) -> None:
    """Refuse a scenario that changed while drawing: its values identify its streams and rows."""
    after = identity(scenario)
    if after != before:
        who = "draw or the method" if isinstance(scenario, WorkUnit) else "simulate"
        raise errors.StudyError(
            f"{who} changed its own scenario, from {before} to {after}: its replicates would be "
            "stored under another scenario. Keep values that change in local variables."
        )
