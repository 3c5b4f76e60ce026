"""Widely cited simulation studies, each reproduced in one file."""
