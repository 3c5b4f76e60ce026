"""What the five documents need: statistics, data-generating processes, scenarios, their methods.

The framework never imports this package. `experiments/` does, and so may a user's own study.
"""
