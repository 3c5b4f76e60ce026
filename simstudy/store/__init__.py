"""Blocks on disk: Parquet, whole or absent, each saying whose it is."""
