"""Publication of a result: files, report, index, terminal table."""
