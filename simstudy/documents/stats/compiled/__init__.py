"""Compiling: machine code that is never stale, explicit vectors, and a mixer of words."""
