"""Intervals for the mean of a Poisson count."""

from intervals.poisson import exact, score, wald

__all__ = ["exact", "score", "wald"]
