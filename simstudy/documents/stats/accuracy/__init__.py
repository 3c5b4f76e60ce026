"""Has a score become worse? Tests of a check against a recorded reference, and their designs."""
