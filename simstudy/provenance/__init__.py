"""Provenance of numbers: scenario, random streams, code, data and other files."""
