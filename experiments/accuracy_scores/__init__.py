"""Accuracy regressions of scores that are no plain accuracies: study, figures and claims."""
