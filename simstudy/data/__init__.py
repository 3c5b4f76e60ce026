"""Data sets as parts of scenarios, identified by their content."""
