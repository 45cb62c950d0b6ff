from turnwire.sstp.acknowledgements import ACKNOWLEDGEMENTS as ACKNOWLEDGEMENTS
from turnwire.sstp.builder import Agent as Agent
from turnwire.sstp.checklist import conformance as conformance
from turnwire.sstp.codec import (
    Salvaged as Salvaged,
)
from turnwire.sstp.codec import (
    check as check,
)
from turnwire.sstp.codec import (
    decode as decode,
)
from turnwire.sstp.codec import (
    detect as detect,
)
from turnwire.sstp.codec import (
    encode as encode,
)
from turnwire.sstp.codec import (
    from_fields as from_fields,
)
from turnwire.sstp.codec import (
    salvage as salvage,
)
from turnwire.sstp.messages import (
    CLASSES as CLASSES,
)
from turnwire.sstp.messages import (
    Commit as Commit,
)
from turnwire.sstp.messages import (
    Delegation as Delegation,
)
from turnwire.sstp.messages import (
    EvidenceBundle as EvidenceBundle,
)
from turnwire.sstp.messages import (
    Fields as Fields,
)
from turnwire.sstp.messages import (
    Intent as Intent,
)
from turnwire.sstp.messages import (
    Knowledge as Knowledge,
)
from turnwire.sstp.messages import (
    MemoryDelta as MemoryDelta,
)
from turnwire.sstp.messages import (
    Message as Message,
)
from turnwire.sstp.messages import (
    Query as Query,
)
from turnwire.sstp.messages import (
    retention_days as retention_days,
)
from turnwire.sstp.schema import json_schema as json_schema
from turnwire.sstp.session import Session as Session
from turnwire.sstp.spec import WIRE as WIRE
from turnwire.sstp.spec import Kind as Kind
