"""From stored replicates to answers: summaries, contrasts, sizes."""
