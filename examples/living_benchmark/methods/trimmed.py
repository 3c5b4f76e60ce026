"""Trimmed means: two methods from one function, by the share that is cut off at each end."""

from scipy import stats

from simstudy import method_grid


def trimmed_mean(x, share):
    return {"estimate": stats.trim_mean(x, share, axis=1)}


trimmed = method_grid(trimmed_mean, share=[0.1, 0.25])
