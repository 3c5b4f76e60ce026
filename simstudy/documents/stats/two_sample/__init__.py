"""Comparing the locations of two samples: a p-value, an estimate and an interval by each method."""
