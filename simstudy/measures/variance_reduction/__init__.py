"""Less Monte Carlo error for the same work: controls, conditional expectations, weights."""
