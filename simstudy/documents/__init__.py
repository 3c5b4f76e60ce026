"""Code of the five documents: statistics, data-generating processes, scenarios, their methods.

The framework never imports this package. `experiments/` does, and so may a user's own study.
"""
