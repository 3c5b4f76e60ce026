"""Results behind URLs."""
