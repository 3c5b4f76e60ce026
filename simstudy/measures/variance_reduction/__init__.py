"""Variance reduction: control variates, conditional expectations, importance weights."""
