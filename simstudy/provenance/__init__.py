"""What a number depends on: scenario, random streams, code, data and other files."""
