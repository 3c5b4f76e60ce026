"""What the document states of the two standard errors, held against the true error."""

CLAIMS = ()
