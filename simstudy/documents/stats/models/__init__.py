"""Models and their losses: least squares, metrics, risk."""
