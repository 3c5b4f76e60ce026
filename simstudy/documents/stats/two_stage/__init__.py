"""The two-stage trial of a mean: its law, and its design."""
