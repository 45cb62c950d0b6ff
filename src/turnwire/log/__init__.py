"""Logs of any size: sources in, batches of columns out, nothing lost on the way."""

from turnwire._lazy import lazy

# Functions of the names of their modules: these are here before anybody imports such a module.
from turnwire.log.plan import Block, plan, read_block
from turnwire.log.scan import Counts, Scan, scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from turnwire.log.input.gaps import Gap
    from turnwire.log.output.batch import Batch
    from turnwire.log.output.texts import TextColumn
    from turnwire.log.output.messages import Message, Reject
    from turnwire.log.output.outputs import write
    from turnwire.log.output.rejects import Rejects
    from turnwire.log.analysis.stats import Stats, stats
    from turnwire.log.output.writers import guarded, unguarded

__all__ = ["Batch", "Block", "Counts", "Gap", "Message", "Reject", "Rejects", "Scan", "Stats", "TextColumn"]
__all__ += ["guarded", "plan", "read_block", "scan", "stats", "unguarded", "write"]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "input.gaps": "Gap",
        "output.batch": "Batch",
        "output.texts": "TextColumn",
        "output.messages": "Message Reject",
        "output.outputs": "write",
        "output.rejects": "Rejects",
        "analysis.stats": "Stats stats",
        "output.writers": "guarded unguarded",
    },
)
