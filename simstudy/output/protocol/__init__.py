"""A study as a preregistration: what is planned before it is drawn, and what was done otherwise."""
