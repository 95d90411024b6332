"""The change-stream form: rows as columns, records of a header and named rows. No I/O."""
