"""What a scan gives: batches, Arrow, rejects, rows, files."""
