"""Logs of any size: sources in, batches of columns out, nothing lost on the way."""

from turnwire._lazy import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from turnwire.log.cluster_plan import Block, plan, read_block
    from turnwire.log.input.bookmarks import Gap
    from turnwire.log.output.batch import Batch
    from turnwire.log.output.messages import Message, Reject
    from turnwire.log.output.outputs import write
    from turnwire.log.output.rejects import Rejects
    from turnwire.log.output.texts import TextColumn
    from turnwire.log.output.writers import guarded, unguarded
    from turnwire.log.scanning import Counts, Scan, scan
    from turnwire.read.stats import Stats, stats

__all__ = ["Batch", "Block", "Counts", "Gap", "Message", "Reject", "Rejects", "Scan", "Stats", "TextColumn"]
__all__ += ["guarded", "plan", "read_block", "scan", "stats", "unguarded", "write"]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "cluster_plan": "Block plan read_block",
        "input.bookmarks": "Gap",
        "output.batch": "Batch",
        "output.messages": "Message Reject",
        "output.outputs": "write",
        "output.rejects": "Rejects",
        "output.texts": "TextColumn",
        "output.writers": "guarded unguarded",
        "scanning": "Counts Scan scan",
        "..read.stats": "Stats stats",
    },
)
