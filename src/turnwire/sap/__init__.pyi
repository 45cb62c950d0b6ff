from turnwire.sap.access import (
    ANONYMOUS as ANONYMOUS,
    Access as Access,
    Action as Action,
    Principal as Principal,
    Rule as Rule,
    authorise as authorise,
)
from turnwire.sap.agent import Agent as Agent
from turnwire.sap.builders import (
    NOT_VETTED as NOT_VETTED,
    NOTHING as NOTHING,
    Failed as Failed,
    Outcome as Outcome,
    Refused as Refused,
    make_task as make_task,
    result_for as result_for,
)
from turnwire.sap.cache import (
    WHOLE_PAYLOAD as WHOLE_PAYLOAD,
    Cache as Cache,
    Essence as Essence,
    Hit as Hit,
    Miss as Miss,
    cache_key as cache_key,
    fingerprint as fingerprint,
    within as within,
)
from turnwire.sap.checklist import Checklist as Checklist, conformance as conformance
from turnwire.sap.codec import decode as decode, detect as detect, encode as encode
from turnwire.sap.handlers import Capability as Capability, Context as Context, Refusal as Refusal, Vetting as Vetting
from turnwire.sap.judgement import Lifecycle as Lifecycle, TaskProgress as TaskProgress
from turnwire.sap.learning import (
    LearningLoop as LearningLoop,
    Signal as Signal,
    essence_of as essence_of,
    thresholds_of as thresholds_of,
)
from turnwire.sap.messages import (
    Ack as Ack,
    AgentError as AgentError,
    Artifact as Artifact,
    Attachment as Attachment,
    Budget as Budget,
    CacheEvidence as CacheEvidence,
    CachePolicy as CachePolicy,
    ConstitutionalContext as ConstitutionalContext,
    ConstitutionalEvidence as ConstitutionalEvidence,
    Issuer as Issuer,
    Nack as Nack,
    OutputContract as OutputContract,
    PolicyCheck as PolicyCheck,
    Producer as Producer,
    ReplyTo as ReplyTo,
    Result as Result,
    Target as Target,
    Task as Task,
    Telemetry as Telemetry,
    Violation as Violation,
)
from turnwire.sap.rules import check as check, lint as lint
from turnwire.sap.schema import json_schema as json_schema
from turnwire.sap.spec import (
    WIRE as WIRE,
    AgentKind as AgentKind,
    Alignment as Alignment,
    CacheMode as CacheMode,
    ErrorCode as ErrorCode,
    PressureLevel as PressureLevel,
    Priority as Priority,
    Receipt as Receipt,
    RiskTolerance as RiskTolerance,
    Status as Status,
)
from turnwire.sap.transports import Caller as Caller, bus as bus, http as http, mcp as mcp, nats as nats
from turnwire.sap.transports.bus import Bus as Bus
