"""Bootstraps of mean losses and of quantiles: exact, double, and by resampling."""
