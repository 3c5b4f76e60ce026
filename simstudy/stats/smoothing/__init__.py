"""Curves through noisy readings, and where they cross a level."""
