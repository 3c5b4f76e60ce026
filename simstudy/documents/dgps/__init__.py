"""Data-generating processes: frozen dataclasses that draw, and the truth they imply."""
