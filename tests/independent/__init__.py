"""Headline numbers of the committed results, recomputed by slow, obvious routes.

`python -m tests.independent` prints each number beside the committed one; it takes some minutes on
one core. Nothing here imports `simstudy` or `experiments`: every formula is derived anew from the
five documents, and only `results/` is shared, where the committed numbers are read.
"""
