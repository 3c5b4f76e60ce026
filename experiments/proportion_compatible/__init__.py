"""Estimators of the proportion of compatible predictions: study, figures and claims."""
