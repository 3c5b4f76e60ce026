"""Simulation studies that everybody cites, each reproduced in one file."""
