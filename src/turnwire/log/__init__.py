"""Logs of any size: sources in, batches of columns out, nothing lost on the way."""

from turnwire.log.input.gaps import Gap
from turnwire.log.output.batch import Batch, TextColumn
from turnwire.log.output.messages import Message, Reject
from turnwire.log.output.outputs import write
from turnwire.log.plan import Block, plan, read_block
from turnwire.log.output.rejects import Rejects
from turnwire.log.scan import Counts, Scan, scan
from turnwire.log.analysis.stats import Stats, stats
from turnwire.log.output.writers import guarded, unguarded

__all__ = ["Batch", "Block", "Counts", "Gap", "Message", "Reject", "Rejects", "Scan", "Stats", "TextColumn"]
__all__ += ["guarded", "plan", "read_block", "scan", "stats", "unguarded", "write"]
