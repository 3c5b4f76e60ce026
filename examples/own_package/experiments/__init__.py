"""One question in each file: `simstudy run experiment=NAME_OF_THE_FILE`."""
