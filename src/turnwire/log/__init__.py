"""Logs of any size: sources in, batches of columns out, nothing lost on the way."""

from turnwire.log.batch import Batch, TextColumn
from turnwire.log.outputs import write
from turnwire.log.rejects import Rejects
from turnwire.log.scan import Counts, Scan, scan
from turnwire.log.writers import guarded, unguarded

__all__ = ["Batch", "Counts", "Rejects", "Scan", "TextColumn", "guarded", "scan", "unguarded", "write"]
