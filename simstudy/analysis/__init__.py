"""Summaries, contrasts and sample sizes computed from stored replicates."""
