"""The binomial tail of tests of accuracy; it is that of trials of a classifier."""

from simstudy.documents.stats.classifier_trial import upper_tail as upper_tail
