"""Logs of any size: sources in, batches of columns out, nothing lost on the way."""

from turnwire.log.batch import Batch, TextColumn
from turnwire.log.rejects import Rejects
from turnwire.log.scan import Counts, Scan, scan

__all__ = ["Batch", "Counts", "Rejects", "Scan", "TextColumn", "scan"]
