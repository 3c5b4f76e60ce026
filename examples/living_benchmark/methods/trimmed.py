"""Trimmed means: two methods from one function, by the share that is cut off at each end."""

from functools import partial

from scipy import stats


def trimmed_mean(x, share):
    return {"estimate": stats.trim_mean(x, share, axis=1)}


trimmed = {f"trimmed_mean_{share}": partial(trimmed_mean, share=share) for share in (0.1, 0.25)}
