from turnwire.csp import fileop as fileop
from turnwire.csp import laws as laws
from turnwire.csp.checklist import conformance as conformance
from turnwire.csp.checkpoints import (
    Change as Change,
)
from turnwire.csp.checkpoints import (
    Checkpoint as Checkpoint,
)
from turnwire.csp.checkpoints import (
    LogEntry as LogEntry,
)
from turnwire.csp.checkpoints import (
    StoreVerdict as StoreVerdict,
)
from turnwire.csp.codec import check as check
from turnwire.csp.codec import decode as decode
from turnwire.csp.codec import detect as detect
from turnwire.csp.codec import encode as encode
from turnwire.csp.codec import parse as parse
from turnwire.csp.fileop import Plan as Plan
from turnwire.csp.laws import Law as Law
from turnwire.csp.laws import judge_laws as judge_laws
from turnwire.csp.laws import routing_laws as routing_laws
from turnwire.csp.lints import lint as lint
from turnwire.csp.logs import Board as Board
from turnwire.csp.logs import Replay as Replay
from turnwire.csp.logs import board as board
from turnwire.csp.logs import read_log as read_log
from turnwire.csp.logs import replay as replay
from turnwire.csp.messages import (
    Block as Block,
)
from turnwire.csp.messages import (
    CspMessage as CspMessage,
)
from turnwire.csp.messages import (
    Document as Document,
)
from turnwire.csp.messages import (
    Error as Error,
)
from turnwire.csp.messages import (
    FileOp as FileOp,
)
from turnwire.csp.messages import (
    Generic as Generic,
)
from turnwire.csp.messages import (
    Junk as Junk,
)
from turnwire.csp.messages import (
    Op as Op,
)
from turnwire.csp.messages import (
    Patch as Patch,
)
from turnwire.csp.messages import (
    Preamble as Preamble,
)
from turnwire.csp.messages import (
    Result as Result,
)
from turnwire.csp.messages import (
    Task as Task,
)
from turnwire.csp.messages import (
    Template as Template,
)
from turnwire.csp.messages import (
    message as message,
)
from turnwire.csp.notation import expand as expand
from turnwire.csp.notation import refs as refs
from turnwire.csp.spec import WIRE as WIRE
from turnwire.csp.spec import Intent as Intent
from turnwire.csp.spec import Priority as Priority
from turnwire.csp.spec import Status as Status
from turnwire.csp.store import Store as Store
