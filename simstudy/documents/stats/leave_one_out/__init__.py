"""Leave-one-out predictions of a Bayesian linear regression; utilities and their errors."""
