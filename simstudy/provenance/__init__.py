"""What a number depends on: scenarios, random streams, code, data, and reads of other files."""
