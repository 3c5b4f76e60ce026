"""Results without the code of their study: replicates of other software, and stored folders."""
