"""Core modules of scans: columns for Arrow, times, heads of lines."""
