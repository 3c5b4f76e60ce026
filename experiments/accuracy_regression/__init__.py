"""Accuracies held against a recorded reference: study, figures and claims."""
