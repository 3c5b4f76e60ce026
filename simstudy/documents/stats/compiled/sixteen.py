"""Sixteen numbers side by side, each of something else: networks, say, in compiled loops.

A lane is only ever added to itself, so its answer depends neither on its neighbours nor on how
wide a machine's registers are: one has sixteen numbers in a register, another in four. Products
that are added are fused, on any machine: `add_product` rounds once by definition, where a
processor has no such instruction the C library computes it, and nothing else is ever fused.

Vectors are addressed by number: the one `at` 3 of an array is its elements 48 to 63.
"""

# ruff: noqa: ARG001 (numba calls each of these by its arguments)
# mypy: disable-error-code="untyped-decorator, no-any-return, no-untyped-def, no-untyped-call, misc"

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

LANES = 16
TILE_ROWS, TILE_COLUMNS = 4, 5  # tile of a product: its sums fit in 32 registers of 16 numbers

I32, I64 = ir.IntType(32), ir.IntType(64)
AS_LLVM = {types.float32: ir.FloatType(), types.float64: ir.DoubleType()}
SUFFIX = {types.float32: "f32", types.float64: "f64"}


class SixteenType(types.Type):
    """numba's name for sixteen numbers of one type."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"Sixteen({dtype})")

    @property
    def vector(self) -> Any:
        return ir.VectorType(AS_LLVM[self.dtype], LANES)


@register_model(SixteenType)
class _SixteenModel(models.PrimitiveModel):
    def __init__(self, manager: Any, sixteen: SixteenType) -> None:
        super().__init__(manager, sixteen, sixteen.vector)


def _of(array: Any) -> SixteenType:
    return SixteenType(array.dtype)


def _data(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    """Address of an array as one of vectors."""
    data = cgutils.create_struct_proxy(array_type)(context, builder, array).data
    return builder.bitcast(data, _of(array_type).vector.as_pointer())


def _load(builder: Any, data: Any, at: Any) -> Any:
    return builder.load(builder.gep(data, [at]), align=4)


def _store(builder: Any, value: Any, data: Any, at: Any) -> None:
    builder.store(value, builder.gep(data, [at]), align=4)


def _call(builder: Any, name: str, sixteen: SixteenType, *args: Any) -> Any:
    """One of LLVM's functions of whole vectors."""
    vector = sixteen.vector
    kind = ir.FunctionType(vector, [vector] * len(args))
    full = f"llvm.{name}.v{LANES}{SUFFIX[sixteen.dtype]}"
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, full), args)


# ---------------------------------------------------------------- to and from memory
@intrinsic
def load(typing, array, at):
    """Vector `at` of an array without gaps."""

    def build(context, builder, signature, args):
        return _load(builder, _data(context, builder, signature.args[0], args[0]), args[1])

    return _of(array)(array, types.int64), build


@intrinsic
def store(typing, array, at, sixteen):
    """Write vector `at` of an array without gaps."""

    def build(context, builder, signature, args):
        data = _data(context, builder, signature.args[0], args[0])
        _store(builder, args[2], data, args[1])
        return context.get_dummy_value()

    return types.void(array, types.int64, _of(array)), build


@intrinsic
def spread(typing, number):
    """The same number in every lane."""
    sixteen = SixteenType(number)

    def build(context, builder, signature, args):
        undefined = ir.Constant(sixteen.vector, ir.Undefined)
        lane = builder.insert_element(undefined, args[0], I32(0))
        places = ir.Constant(ir.VectorType(I32, LANES), [0] * LANES)
        return builder.shuffle_vector(lane, undefined, places)

    return sixteen(number), build


@intrinsic
def store_columns(typing, table, rows, out, at, step):
    """Store element i of each of sixteen vectors of a table to vector `at` + i · `step`, for all i.

    `rows` has the numbers of the vectors: what lay in vector k comes to lie in lane k.
    """

    def build(context, builder, signature, args):
        _, _, out_type, _, _ = signature.args
        chosen = cgutils.create_struct_proxy(signature.args[1])(context, builder, args[1]).data
        source = _data(context, builder, signature.args[0], args[0])
        target = _data(context, builder, out_type, args[2])
        held = [
            _load(builder, source, builder.load(builder.gep(chosen, [I64(k)])))
            for k in range(LANES)
        ]
        for i, column in enumerate(_transposed(builder, held)):
            _store(builder, column, target, builder.add(args[3], builder.mul(I64(i), args[4])))
        return context.get_dummy_value()

    return types.void(table, types.Array(types.int64, 1, "C"), out, types.int64, types.int64), build


def _transposed(builder: Any, held: list[Any]) -> list[Any]:
    """Lanes become vectors: each round swaps one bit of the numbers of lanes and of vectors."""
    for bit in (8, 4, 2, 1):
        after = list(held)
        for low in range(LANES):
            if not low & bit:
                pair = held[low], held[low | bit]
                # of two vectors, lanes of the second are numbered from LANES on
                first = [lane if not lane & bit else LANES + lane - bit for lane in range(LANES)]
                second = [lane + bit if not lane & bit else LANES + lane for lane in range(LANES)]
                after[low] = _shuffled(builder, *pair, first)
                after[low | bit] = _shuffled(builder, *pair, second)
        held = after
    return held


def _shuffled(builder: Any, some: Any, others: Any, lanes: list[int]) -> Any:
    return builder.shuffle_vector(some, others, ir.Constant(ir.VectorType(I32, LANES), lanes))


# ---------------------------------------------------------------- lane by lane
def _pairwise(operation: Callable[..., Any], instruction: str) -> None:
    """Give an operator its meaning: one instruction, rounded once."""

    @intrinsic
    def lane_by_lane(typing, some, others):
        def build(context, builder, signature, args):
            return getattr(builder, instruction)(*args)

        return some(some, some), build

    @overload(operation, inline="always")
    def _(some, others):
        if isinstance(some, SixteenType) and some == others:
            return lambda some, others: lane_by_lane(some, others)
        return None


_pairwise(operator.add, "fadd")
_pairwise(operator.sub, "fsub")
_pairwise(operator.mul, "fmul")
_pairwise(operator.truediv, "fdiv")


@intrinsic
def add_product(typing, sixteen, factor, other):
    """`sixteen` + `factor` · `other`, rounded once on any machine."""

    def build(context, builder, signature, args):
        return _call(builder, "fma", sixteen, args[1], args[2], args[0])

    return sixteen(sixteen, sixteen, sixteen), build


@intrinsic
def root(typing, sixteen):
    """Square roots."""

    def build(context, builder, signature, args):
        return _call(builder, "sqrt", sixteen, *args)

    return sixteen(sixteen), build


@intrinsic
def where_above_zero(typing, sixteen, then):
    """`then` where a number is above 0, and 0 elsewhere, also where it is none."""

    def build(context, builder, signature, args):
        zero = ir.Constant(sixteen.vector, [0.0] * LANES)
        return builder.select(builder.fcmp_ordered(">", args[0], zero), args[1], zero)

    return sixteen(sixteen, sixteen), build


# ---------------------------------------------------------------- products of matrices
@intrinsic
def multiply_tile(typing, a, a_at, a_row, a_in, b, b_at, b_in, b_column,
                  out, out_at, out_row, out_column, n_in, n_row, n_column):  # fmt: skip
    """Some rows and columns of products of matrices, one lane for each product.

    `out[r, c]` is the sum of `a[r, n] · b[n, c]` over n from 0 on, each product fused with the sum
    so far. A matrix is an array, where it begins, and the distances between its vectors: from row
    to row, from one n to the next, from column to column.

    At most `TILE_ROWS` and `TILE_COLUMNS`: the sums are then in registers, where each is added to
    while others wait.
    """
    sixteen, whole = _of(a), types.int64

    def build(context, builder, signature, args):
        of = lambda place: _data(context, builder, signature.args[place], args[place])  # noqa: E731
        data, where = (
            (of(0), of(4), of(8)),
            [args[place] for place in (1, 2, 3, 5, 6, 7, 9, 10, 11)],
        )
        n_in, n_row, n_column = args[12:]
        done = builder.append_basic_block("done")
        kind = builder.add(builder.mul(n_row, I64(TILE_COLUMNS + 1)), n_column)
        choice = builder.switch(kind, done)
        for rows in range(1, TILE_ROWS + 1):
            for columns in range(1, TILE_COLUMNS + 1):
                block = builder.append_basic_block(f"tile_{rows}_{columns}")
                choice.add_case(I64(rows * (TILE_COLUMNS + 1) + columns), block)
                builder.position_at_end(block)
                _tile(builder, sixteen, data, where, n_in, rows, columns)
                builder.branch(done)
        builder.position_at_end(done)
        return context.get_dummy_value()

    matrix = whole, whole, whole
    return types.void(a, *matrix, b, *matrix, out, *matrix, whole, whole, whole), build


def _tile(builder: Any, sixteen: SixteenType, data: Any, where: Any, n_in: Any,
          rows: int, columns: int) -> None:  # fmt: skip
    """A loop over n whose sums are variables of their own."""
    (a, b, out), (a_at, a_row, a_in, b_at, b_in, b_column, out_at, out_row, out_column) = (
        data,
        where,
    )
    zero = ir.Constant(sixteen.vector, [0.0] * LANES)
    sums = [[cgutils.alloca_once_value(builder, zero) for _ in range(columns)] for _ in range(rows)]
    for row in sums:
        for total in row:
            builder.store(zero, total)

    def place(start: Any, *steps: Any) -> Any:
        for count, step in steps:
            start = builder.add(start, builder.mul(count, step))
        return start

    with cgutils.for_range(builder, n_in) as loop:
        left = [
            _load(builder, a, place(a_at, (I64(r), a_row), (loop.index, a_in))) for r in range(rows)
        ]
        above = [
            _load(builder, b, place(b_at, (I64(c), b_column), (loop.index, b_in)))
            for c in range(columns)
        ]
        for row, factor in zip(sums, left, strict=True):
            for total, other in zip(row, above, strict=True):
                fused = _call(builder, "fma", sixteen, factor, other, builder.load(total))
                builder.store(fused, total)
    for r, row in enumerate(sums):
        for c, total in enumerate(row):
            at = place(out_at, (I64(r), out_row), (I64(c), out_column))
            _store(builder, builder.load(total), out, at)
