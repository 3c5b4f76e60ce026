"""What Sphinx is told about these pages, beyond what `conf.py` can say in a line."""
