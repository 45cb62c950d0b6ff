from turnwire.kick import channels as channels
from turnwire.kick.checklist import conformance as conformance
from turnwire.kick.codec import (
    Envelope as Envelope,
    check as check,
    decode as decode,
    encode as encode,
    json_schema as json_schema,
)
from turnwire.kick.monitor import Deadlines as Deadlines, Event as Event, Monitor as Monitor
from turnwire.kick.rules import DEFAULT_POLICY as DEFAULT_POLICY, Policy as Policy, Row as Row, lint as lint
from turnwire.kick.space import Section as Section, Space as Space, detect as detect, parse_space as parse_space
from turnwire.kick.spec import (
    ROLES as ROLES,
    WIRE as WIRE,
    EventKind as EventKind,
    MessageType as MessageType,
    Signal as Signal,
    TaskState as TaskState,
)
