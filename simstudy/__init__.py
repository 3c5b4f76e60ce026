"""Monte Carlo simulation studies: vectorized, reproducible, every number with its error."""
