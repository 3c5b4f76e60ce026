"""Four doubles side by side, and 32 random indices at once, for compiled loops.

numba leaves it to LLVM which loops become vector instructions, and LLVM leaves alone sums whose
order would change. These few operations say it outright, in LLVM's own vector types: any machine
has them, in registers as wide as it has, and the answers are the same to the last bit. Lanes are
added to themselves only, and no product is fused with a sum.

A change here leads to new machine code for every kernel: see module `kernel`.
"""

# ruff: noqa: ARG001 (numba calls each of these by its arguments)
# mypy: disable-error-code="untyped-decorator, no-any-return, no-untyped-def, no-untyped-call, misc"

import operator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

from simstudy.array_types import Float
from simstudy.documents.stats.compiled.kernel import kernel

# Sizes are those of a vector of 256 bits for doubles (two registers where they have 128) and of 512
# for words. They decide in which order sums are taken, so they are constants and not asked of the
# machine: a machine with other registers splits or joins them, and adds in the same order.
WIDTH = 4  # doubles
CACHE_LINE = 8  # doubles
PER_CHUNK = 32  # indices: eight words of four quarters

I16, I32, I64 = ir.IntType(16), ir.IntType(32), ir.IntType(64)
DOUBLES = ir.VectorType(ir.DoubleType(), WIDTH)
WORDS = ir.VectorType(I64, PER_CHUNK // 4)
QUARTERS = ir.VectorType(I16, PER_CHUNK)


class _Vector(types.Type):
    """numba's name for a vector of LLVM."""


class FourType(_Vector):
    """Four doubles."""

    def __init__(self) -> None:
        super().__init__(name="Four")


class WordsType(_Vector):
    """Eight words of 64 bits."""

    def __init__(self) -> None:
        super().__init__(name="Words")


@register_model(FourType)
class _FourModel(models.PrimitiveModel):
    def __init__(self, manager: Any, four: FourType) -> None:
        super().__init__(manager, four, DOUBLES)


@register_model(WordsType)
class _WordsModel(models.PrimitiveModel):
    def __init__(self, manager: Any, words: WordsType) -> None:
        super().__init__(manager, words, WORDS)


FOUR, EIGHT_WORDS = FourType(), WordsType()


def _address(context: Any, builder: Any, array_type: Any, array: Any, at: Any, vector: Any) -> Any:
    data = cgutils.create_struct_proxy(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [at]), vector.as_pointer())


def _spread(builder: Any, scalar: Any, vector: Any) -> Any:
    """The same scalar in every lane."""
    lane = builder.insert_element(ir.Constant(vector, ir.Undefined), scalar, I32(0))
    # An insertion and a shuffle by zeros are how LLVM says that a scalar is broadcast.
    places = ir.Constant(ir.VectorType(I32, vector.count), [0] * vector.count)
    return builder.shuffle_vector(lane, ir.Constant(vector, ir.Undefined), places)


@intrinsic
def zeros(typing):
    """Four zeros."""

    def build(context, builder, signature, args):
        return ir.Constant(DOUBLES, [0.0] * WIDTH)

    return FOUR(), build


@intrinsic
def load(typing, array, at):
    """Elements `at` to `at` + 3 of a flat array of doubles."""

    def build(context, builder, signature, args):
        address = _address(context, builder, signature.args[0], args[0], args[1], DOUBLES)
        return builder.load(address, align=8)

    return FOUR(array, types.int64), build


@intrinsic
def store(typing, array, at, four):
    """Write to elements `at` to `at` + 3 of a flat array of doubles."""

    def build(context, builder, signature, args):
        address = _address(context, builder, signature.args[0], args[0], args[1], DOUBLES)
        builder.store(args[2], address, align=8)
        return context.get_dummy_value()

    return types.void(array, types.int64, FOUR), build


@intrinsic
def add(typing, four, other):
    """Lane by lane."""

    def build(context, builder, signature, args):
        return builder.fadd(*args)

    return FOUR(FOUR, FOUR), build


@intrinsic
def add_multiple(typing, four, factor, other):
    """`four` + `factor` · `other`, rounded twice: the same with and without a fused unit."""

    def build(context, builder, signature, args):
        four, factor, other = args
        return builder.fadd(four, builder.fmul(_spread(builder, factor, DOUBLES), other))

    return FOUR(FOUR, types.float64, FOUR), build


@intrinsic
def counted(typing, word, step):
    """`word` and the seven after it, each `step` more than the one before (modulo 2^64)."""

    def build(context, builder, signature, args):
        times = ir.Constant(WORDS, list(range(WORDS.count)))
        steps = builder.mul(_spread(builder, args[1], WORDS), times)
        return builder.add(_spread(builder, args[0], WORDS), steps)

    return EIGHT_WORDS(types.uint64, types.uint64), build


# Eight words under the operators of one, so that a function of a word is written once: compiled for
# `types.uint64` it mixes a word, and compiled for `EIGHT_WORDS` it mixes eight at the same time.
@intrinsic
def _add_words(typing, words, word):
    def build(context, builder, signature, args):
        return builder.add(args[0], _spread(builder, args[1], WORDS))

    return EIGHT_WORDS(EIGHT_WORDS, types.uint64), build


@intrinsic
def _multiply_words(typing, words, word):
    def build(context, builder, signature, args):
        return builder.mul(args[0], _spread(builder, args[1], WORDS))

    return EIGHT_WORDS(EIGHT_WORDS, types.uint64), build


@intrinsic
def _shift_words(typing, words, bits):
    def build(context, builder, signature, args):
        return builder.lshr(args[0], _spread(builder, args[1], WORDS))

    return EIGHT_WORDS(EIGHT_WORDS, types.uint64), build


@intrinsic
def _xor_words(typing, words, others):
    def build(context, builder, signature, args):
        return builder.xor(*args)

    return EIGHT_WORDS(EIGHT_WORDS, EIGHT_WORDS), build


@overload(operator.add, inline="always")
def _(words, word):
    if isinstance(words, WordsType) and word == types.uint64:
        return lambda words, word: _add_words(words, word)
    return None


@overload(operator.mul, inline="always")
def _(words, word):
    if isinstance(words, WordsType) and word == types.uint64:
        return lambda words, word: _multiply_words(words, word)
    return None


@overload(operator.rshift, inline="always")
def _(words, bits):
    if isinstance(words, WordsType) and bits == types.uint64:
        return lambda words, bits: _shift_words(words, bits)
    return None


@overload(operator.xor, inline="always")
def _(words, others):
    if isinstance(words, WordsType) and isinstance(others, WordsType):
        return lambda words, others: _xor_words(words, others)
    return None


@intrinsic
def place_indices(typing, words, n, threshold, wanted, array, at):
    """Turn 32 quarters of words into indices below `n`, in place of `array[at]` to `[at + 7]`.

    Quarter x gives index x·n >> 16, and is refused where x·n mod 2^16 is below `threshold` (Lemire
    2019). Only those are placed whose bit of `wanted` is set; the answer has the bits of those of
    them that are refused.
    """

    def build(context, builder, signature, args):
        words, n, threshold, wanted, array, at = args
        # Products of 16 bits keep 32 indices in one vector, where products of 32 bits would need
        # two. Those that are refused are placed like the others, and placed again by the caller.
        quarters = builder.bitcast(words, QUARTERS)
        n = _spread(builder, builder.trunc(n, I16), QUARTERS)
        high = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(QUARTERS, [QUARTERS, QUARTERS, I32]),
            f"llvm.umul.fix.v{PER_CHUNK}i16",  # the upper 16 bits of the product
        )
        drawn = builder.call(high, [quarters, n, I32(16)])
        address = _address(context, builder, signature.args[4], array, at, QUARTERS)
        chosen = builder.bitcast(wanted, ir.VectorType(ir.IntType(1), PER_CHUNK))
        placed = builder.select(chosen, drawn, builder.load(address, align=8))
        builder.store(placed, address, align=8)
        limit = _spread(builder, builder.trunc(threshold, I16), QUARTERS)
        refused = builder.icmp_unsigned("<", builder.mul(quarters, n), limit)
        return builder.and_(builder.bitcast(refused, I32), wanted)

    arguments = EIGHT_WORDS, types.uint64, types.uint64, types.uint32, array, types.int64
    return types.uint32(*arguments), build


@kernel
def aligned_zeros(size: int) -> Float[np.ndarray, " size"]:
    """Doubles that begin on a cache line: no vector of them lies across two lines."""
    room = np.zeros(size + CACHE_LINE)
    start = (-(room.ctypes.data // 8)) % CACHE_LINE
    return room[start : start + size]
