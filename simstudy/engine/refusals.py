"""What may be asked of a run, refused where it makes no sense."""

import math
import numbers
from collections.abc import Collection, Mapping
from typing import Any

from simstudy.errors import ConfigError, nearest

KEEPS = ("replicates", "summary")


def check_keep(keep: str, n_rep: int, block_size: int) -> None:
    """Refuse what cannot be kept, and of moments what is not whole blocks."""
    if keep not in KEEPS:
        raise ConfigError(f"keep={keep!r}: there is {', '.join(KEEPS)}.")
    if keep == "summary" and n_rep % block_size:
        whole = -(-n_rep // block_size) * block_size
        raise ConfigError(
            f"n_rep={n_rep} with keep=summary: only whole blocks of {block_size} "
            f"replicates are kept; nearest that works: n_rep={whole}"
        )


def check_shard(shard: tuple[int, int] | None, precision: Mapping[str, Any]) -> None:
    """Refuse a share of a run whose size is decided as it goes."""
    if shard and precision:
        raise ConfigError(
            "shard with precision: a shard cannot know when the whole study is precise enough. "
            "Run the shards with a fixed n_rep, then precision=... without shard."
        )


def check_retry(retry: Any) -> None:
    """Refuse anything but `failed` and None."""
    if retry not in (None, "failed"):
        raise ConfigError(
            f"retry={retry}: allowed is failed, which draws blocks with recorded failures again; "
            "nearest that works: retry=failed"
        )


def check_redraw(redraw: str | Collection[str], methods: Collection[str]) -> tuple[str, ...]:
    """Names of methods, of which none is unknown; a text may name several, with commas."""
    names = redraw.split(",") if isinstance(redraw, str) else redraw
    for name in names:
        if name not in methods:
            raise ConfigError(
                f"redraw={name}: the study has no such method to draw anew; "
                + nearest(name, methods)
            )
    return tuple(names)


def check_n_rep(n_rep: Any) -> None:
    """Refuse anything but a whole number of at least 1."""
    if not is_whole(n_rep) or n_rep < 1:
        is_number = isinstance(n_rep, int | float) and math.isfinite(n_rep)
        near = max(1, round(n_rep)) if is_number else 1000
        raise ConfigError(
            f"n_rep={n_rep}: allowed is a whole number at least 1; nearest that works: n_rep={near}"
        )


def check_seed(seed: Any) -> None:
    """Refuse anything but a whole number of at least 0."""
    if not is_whole(seed) or seed < 0:
        raise ConfigError(
            f"seed={seed}: allowed is a whole number at least 0, which names a sequence of random "
            "numbers; nearest that works: seed=1"
        )


def is_whole(value: Any) -> bool:
    """Python's whole numbers and NumPy's, but not the truth values."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)
