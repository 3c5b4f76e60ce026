"""Places that are reached by URL, through fsspec: buckets, and file systems of other machines."""
