"""Results in remote stores, by URL."""
