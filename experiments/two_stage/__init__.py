"""The two-stage trial of a mean: its study, figures and claims."""
