"""A folder of results as a research object: RO-Crate 1.1, to be deposited or mailed."""
