"""Many predictive p-values together: combined, as false discovery rates, as a share of nulls."""
