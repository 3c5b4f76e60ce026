"""Names of `simstudy.documents.stats.classifier_trial` that tests of accuracy import from here."""
