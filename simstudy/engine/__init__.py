"""From a plan to stored blocks: drawing, failures, workers, threads."""
