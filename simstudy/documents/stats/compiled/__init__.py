"""Compiling: machine code that is never stale, vectors said outright, and a mixer of words."""
