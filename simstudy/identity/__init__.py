"""What names a number: scenarios, random streams, and the code that it depends on."""
