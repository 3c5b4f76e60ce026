"""What an axis says at its ticks: its labels, whether they are numbers, and another wording."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

NUMBER: Final = re.compile(r"[−+\-]?[\d.,]+(e[−+\-]?\d+)?[%k]?|\$.*\$")


def tick_labels(axis: Any) -> list[Any]:
    """The labels that an axis shows, in the order of its ticks."""
    if not axis.get_visible():
        return []
    low, high = sorted(axis.get_view_interval())
    edge = 1e-9 * (high - low)
    return [
        label
        for tick in axis.get_major_ticks()[: len(axis.get_majorticklocs())]
        if low - edge <= tick.get_loc() <= high + edge
        for label in (tick.label1, tick.label2)
        if label.get_visible() and label.get_text().strip()
    ]


def are_numbers(labels: Iterable[Any]) -> bool:
    """Whether all labels are, so that some of them say what the others do."""
    return all(NUMBER.fullmatch(label.get_text().strip()) for label in labels)


def say(axis: Any, change: Callable[[list[str]], list[str]]) -> None:
    """Change what an axis says at its ticks."""
    from matplotlib.ticker import Formatter

    inner = axis.get_major_formatter()

    class Changed(Formatter):
        def __call__(self, place: float, at: int | None = None) -> str:
            return change([inner(place, at)])[0]

        def format_ticks(self, values: Sequence[float]) -> list[str]:
            return change(list(inner.format_ticks(values)))

        def get_offset(self) -> str:
            return str(inner.get_offset())

    axis.set_major_formatter(Changed())
