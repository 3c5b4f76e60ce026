"""What the document states of Taylor's formula and the bootstrap, against what `loo_r2` finds."""

CLAIMS = ()
