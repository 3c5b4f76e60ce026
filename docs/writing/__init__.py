"""Pages of the documentation whose numbers are read from committed results."""
