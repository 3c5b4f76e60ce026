"""The store: blocks in Parquet files, written atomically, each with its provenance."""
