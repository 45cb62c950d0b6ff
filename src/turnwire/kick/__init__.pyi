from turnwire.kick import channels as channels
from turnwire.kick.checklist import conformance as conformance
from turnwire.kick.codec import (
    Envelope as Envelope,
)
from turnwire.kick.codec import (
    check as check,
)
from turnwire.kick.codec import (
    decode as decode,
)
from turnwire.kick.codec import (
    encode as encode,
)
from turnwire.kick.codec import (
    json_schema as json_schema,
)
from turnwire.kick.documents import DOCUMENTS as DOCUMENTS
from turnwire.kick.documents import detect as detect
from turnwire.kick.monitor import Deadlines as Deadlines
from turnwire.kick.monitor import Event as Event
from turnwire.kick.monitor import Monitor as Monitor
from turnwire.kick.policy import (
    DEFAULT_POLICY as DEFAULT_POLICY,
)
from turnwire.kick.policy import (
    Policy as Policy,
)
from turnwire.kick.policy import (
    PolicyRefusal as PolicyRefusal,
)
from turnwire.kick.policy import (
    Row as Row,
)
from turnwire.kick.rules import lint as lint
from turnwire.kick.space import (
    RejectedPiece as RejectedPiece,
)
from turnwire.kick.space import (
    SalvagedSection as SalvagedSection,
)
from turnwire.kick.space import (
    SalvagedSpace as SalvagedSpace,
)
from turnwire.kick.space import (
    Section as Section,
)
from turnwire.kick.space import (
    Space as Space,
)
from turnwire.kick.space import (
    parse_space as parse_space,
)
from turnwire.kick.space import (
    salvage_space as salvage_space,
)
from turnwire.kick.spec import (
    ROLES as ROLES,
)
from turnwire.kick.spec import (
    WIRE as WIRE,
)
from turnwire.kick.spec import (
    EventKind as EventKind,
)
from turnwire.kick.spec import (
    MessageType as MessageType,
)
from turnwire.kick.spec import (
    Signal as Signal,
)
from turnwire.kick.spec import (
    TaskState as TaskState,
)
