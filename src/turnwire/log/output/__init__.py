"""Output: batches, Arrow, rejects, rows, files."""
