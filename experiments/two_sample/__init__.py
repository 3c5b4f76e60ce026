"""Two samples with unequal variances: study, figures and claims."""
