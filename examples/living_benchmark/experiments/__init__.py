"""One question in each file: `simstudy run NAME_OF_THE_FILE`."""
