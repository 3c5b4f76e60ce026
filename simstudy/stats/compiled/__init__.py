"""Compiling: machine code that is never stale, vectors said outright, and a mixer of words."""

import re

COMPILES = re.compile(
    rb"^\s*(?:from|import)\s.*\b(?:numba|llvmlite|compiled\.kernel)\b", re.MULTILINE
)
"""Imports of a module with code to be compiled."""
