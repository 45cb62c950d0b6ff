from turnwire.csp import fileop as fileop
from turnwire.csp.checklist import conformance as conformance
from turnwire.csp.codec import check as check, decode as decode, detect as detect, encode as encode, parse as parse
from turnwire.csp.fileop import Plan as Plan
from turnwire.csp.lints import lint as lint
from turnwire.csp.logs import Replay as Replay, read_log as read_log, replay as replay
from turnwire.csp.messages import (
    Block as Block,
    CspMessage as CspMessage,
    Document as Document,
    Error as Error,
    FileOp as FileOp,
    Generic as Generic,
    Junk as Junk,
    Op as Op,
    Patch as Patch,
    Preamble as Preamble,
    Result as Result,
    Task as Task,
    Template as Template,
    message as message,
)
from turnwire.csp.notation import expand as expand, refs as refs
from turnwire.csp.spec import WIRE as WIRE, Intent as Intent, Priority as Priority, Status as Status
from turnwire.csp.store import (
    Change as Change,
    Checkpoint as Checkpoint,
    LogEntry as LogEntry,
    Store as Store,
    StoreVerdict as StoreVerdict,
)
