"""Predictive distributions, the p-values of what came of predictions, and their calibration."""
