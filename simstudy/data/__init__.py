"""Data as parts of scenarios, named by what they hold."""
