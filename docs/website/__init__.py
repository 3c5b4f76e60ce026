"""Sphinx extensions of this site: table of contents and API pages."""
