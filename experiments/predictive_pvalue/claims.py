"""What the document states of three networks, against what splits and training seeds say."""

CLAIMS = ()
CONTROLS = ()
OF_TRUTH = ()
