"""One file per question. A file here is found by its name: `python run.py experiment=<file>`."""
