"""What the document states of many features, by its own approximation and exactly."""

CLAIMS = ()
