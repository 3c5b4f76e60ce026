"""Predictive p-values of networks: study, figures and claims."""
