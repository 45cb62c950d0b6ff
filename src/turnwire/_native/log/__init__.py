"""Core modules of scans: the search of logs, columns for Arrow, sums of records."""
