"""Results without a study's code: replicates of other software, and stored folders."""
