"""Output: batches, Arrow, rejects, rows, files."""

from turnwire._lazy import require_numpy

require_numpy()
