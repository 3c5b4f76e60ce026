"""Modules: whose they are, and what their sources say that no definition does."""
