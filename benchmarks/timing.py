"""Timers that the benchmarks share."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]


def seconds(call: Callable[..., Any], *args: Any, rounds: int = 1) -> float:
    """The best of some rounds: the least disturbed."""
    times = []
    for _ in range(rounds):
        start = perf_counter()
        call(*args)
        times.append(perf_counter() - start)
    return min(times)


def least(calls: Sequence[Callable[[], Any]], rounds: int) -> list[float]:
    """Least time of each, measured in turn, so that a busy moment does not hit only one."""
    times = [[seconds(call) for call in calls] for _ in range(rounds)]
    return np.min(times, axis=0).tolist()


def python(*arguments: str) -> str:
    """What another interpreter prints, started in the root of the project."""
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout


def least_alone(benchmark: Any, module: str, calls: Sequence[str], rounds: int) -> list[float]:
    """`least` in a process of its own, as a script would run.

    There no shapes are checked as tests do, and no earlier test has left memory at hand.

    Parameters
    ----------
    calls
        Expressions, in the names of `module`, for functions without arguments.
    """
    listed = ", ".join(calls)
    code = (
        f"from {module} import *; from {__name__} import least; print(*least([{listed}], {rounds}))"
    )
    printed = benchmark.pedantic(python, args=("-c", code), rounds=1)
    return [float(text) for text in printed.split()]
