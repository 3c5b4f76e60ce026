"""Draws the blocks of a plan: scheduling, executors, failures, time and thread limits."""
