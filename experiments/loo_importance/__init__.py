"""Leave-one-out by importance sampling, against the exact answer: study, figures and claims."""
