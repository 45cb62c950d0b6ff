from turnwire.log.cluster_plan import Block as Block, plan as plan, read_block as read_block
from turnwire.log.input.bookmarks import Gap as Gap
from turnwire.log.output.batch import Batch as Batch
from turnwire.log.output.outputs import guarded as guarded, unguarded as unguarded, write as write
from turnwire.log.output.rejects import Message as Message, Reject as Reject, Rejects as Rejects
from turnwire.log.output.texts import TextColumn as TextColumn
from turnwire.log.scanning import Counts as Counts, Scan as Scan, ScanResult as ScanResult, scan as scan
from turnwire.read.grouping import Grouped as Grouped, Stats as Stats, group_by as group_by, stats as stats
