"""Publishes a result: files, report, index, terminal table."""
