//! The append-only store of records: journal, immutable run files, date-partitioned Parquet, an index that can be rebuilt.
