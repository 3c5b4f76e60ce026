"""The two-stage trial of a fitted regression: its study, figures and claims."""
