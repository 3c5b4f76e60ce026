"""Results that lie beyond this machine, reached by URL."""
