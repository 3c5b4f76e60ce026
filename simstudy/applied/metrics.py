"""Which way a metric goes, by its name."""

import re

LOWER_IS_BETTER = frozenset({
    "perplexity", "ppl", "loss", "nll", "negative_log_likelihood", "cross_entropy", "bits_per_byte",
    "wer", "word_error_rate", "cer", "character_error_rate", "error", "error_rate", "brier",
    "brier_score", "mae", "mse", "rmse",
})  # fmt: skip


def is_lower_better(metric: str) -> bool:
    """Whether a smaller value is the better one; of a name that is not known, the larger is."""
    return re.sub(r"[^a-z0-9]+", "_", metric.lower()).strip("_") in LOWER_IS_BETTER
