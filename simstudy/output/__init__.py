"""A result for people: files, a page, a closing table."""
