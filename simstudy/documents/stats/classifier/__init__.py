"""The trial of a binary classifier: thresholds, their bounds, sample sizes."""
