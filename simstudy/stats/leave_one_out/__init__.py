"""Leave-one-out predictions: exact for a Bayesian linear regression; utilities with their errors."""
