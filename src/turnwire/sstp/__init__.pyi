from turnwire.sstp.checklist import conformance as conformance
from turnwire.sstp.codec import (
    Salvaged as Salvaged,
    check as check,
    decode as decode,
    detect as detect,
    encode as encode,
    from_fields as from_fields,
    json_schema as json_schema,
    salvage as salvage,
)
from turnwire.sstp.messages import (
    CLASSES as CLASSES,
    Commit as Commit,
    Delegation as Delegation,
    EvidenceBundle as EvidenceBundle,
    Fields as Fields,
    Intent as Intent,
    Knowledge as Knowledge,
    MemoryDelta as MemoryDelta,
    Message as Message,
    Query as Query,
)
from turnwire.sstp.session import ACKNOWLEDGEMENTS as ACKNOWLEDGEMENTS, Agent as Agent, Session as Session
from turnwire.sstp.spec import WIRE as WIRE, Kind as Kind
