"""The statistics: arrays in, arrays out. One module per idea."""
