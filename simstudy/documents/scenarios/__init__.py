"""Scenarios of the documents' studies; a study adds the grid, the figures and the claims."""
