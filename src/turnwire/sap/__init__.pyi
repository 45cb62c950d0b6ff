from turnwire.sap.access import (
    ANONYMOUS as ANONYMOUS,
)
from turnwire.sap.access import (
    Access as Access,
)
from turnwire.sap.access import (
    Action as Action,
)
from turnwire.sap.access import (
    Principal as Principal,
)
from turnwire.sap.access import (
    Rule as Rule,
)
from turnwire.sap.access import (
    authorise as authorise,
)
from turnwire.sap.agent import Agent as Agent
from turnwire.sap.builders import (
    NOT_VETTED as NOT_VETTED,
)
from turnwire.sap.builders import (
    NOTHING as NOTHING,
)
from turnwire.sap.builders import (
    Failed as Failed,
)
from turnwire.sap.builders import (
    Outcome as Outcome,
)
from turnwire.sap.builders import (
    Refused as Refused,
)
from turnwire.sap.builders import (
    make_task as make_task,
)
from turnwire.sap.builders import (
    result_for as result_for,
)
from turnwire.sap.cache import (
    WHOLE_PAYLOAD as WHOLE_PAYLOAD,
)
from turnwire.sap.cache import (
    Cache as Cache,
)
from turnwire.sap.cache import (
    Essence as Essence,
)
from turnwire.sap.cache import (
    Hit as Hit,
)
from turnwire.sap.cache import (
    Miss as Miss,
)
from turnwire.sap.cache import (
    cache_key as cache_key,
)
from turnwire.sap.cache import (
    fingerprint as fingerprint,
)
from turnwire.sap.cache import within as within
from turnwire.sap.calls import Caller as Caller
from turnwire.sap.checklist import Checklist as Checklist
from turnwire.sap.checklist import conform_files as conform_files
from turnwire.sap.checklist import conformance as conformance
from turnwire.sap.codec import decode as decode
from turnwire.sap.codec import detect as detect
from turnwire.sap.codec import encode as encode
from turnwire.sap.handlers import Capability as Capability
from turnwire.sap.handlers import Context as Context
from turnwire.sap.handlers import Refusal as Refusal
from turnwire.sap.jobs import STAGES as STAGES
from turnwire.sap.jobs import Stage as Stage
from turnwire.sap.learning import LearningLoop as LearningLoop
from turnwire.sap.learning import Signal as Signal
from turnwire.sap.learning import essence_of as essence_of
from turnwire.sap.learning import thresholds_of as thresholds_of
from turnwire.sap.lifecycle import Lifecycle as Lifecycle
from turnwire.sap.lifecycle import TaskProgress as TaskProgress
from turnwire.sap.messages import (
    Ack as Ack,
)
from turnwire.sap.messages import (
    AgentError as AgentError,
)
from turnwire.sap.messages import (
    Artifact as Artifact,
)
from turnwire.sap.messages import (
    Attachment as Attachment,
)
from turnwire.sap.messages import (
    Budget as Budget,
)
from turnwire.sap.messages import (
    CacheEvidence as CacheEvidence,
)
from turnwire.sap.messages import (
    CachePolicy as CachePolicy,
)
from turnwire.sap.messages import (
    ConstitutionalContext as ConstitutionalContext,
)
from turnwire.sap.messages import (
    ConstitutionalEvidence as ConstitutionalEvidence,
)
from turnwire.sap.messages import (
    Issuer as Issuer,
)
from turnwire.sap.messages import (
    Nack as Nack,
)
from turnwire.sap.messages import (
    OutputContract as OutputContract,
)
from turnwire.sap.messages import (
    PolicyCheck as PolicyCheck,
)
from turnwire.sap.messages import (
    Producer as Producer,
)
from turnwire.sap.messages import (
    ReplyTo as ReplyTo,
)
from turnwire.sap.messages import (
    Result as Result,
)
from turnwire.sap.messages import (
    Target as Target,
)
from turnwire.sap.messages import (
    Task as Task,
)
from turnwire.sap.messages import (
    Telemetry as Telemetry,
)
from turnwire.sap.messages import (
    Violation as Violation,
)
from turnwire.sap.objects import Folder as Folder
from turnwire.sap.rules import check as check
from turnwire.sap.rules import lint as lint
from turnwire.sap.schema import json_schema as json_schema
from turnwire.sap.spec import (
    WIRE as WIRE,
)
from turnwire.sap.spec import (
    AgentKind as AgentKind,
)
from turnwire.sap.spec import (
    Alignment as Alignment,
)
from turnwire.sap.spec import (
    CacheMode as CacheMode,
)
from turnwire.sap.spec import (
    ErrorCode as ErrorCode,
)
from turnwire.sap.spec import (
    PressureLevel as PressureLevel,
)
from turnwire.sap.spec import (
    Priority as Priority,
)
from turnwire.sap.spec import (
    Receipt as Receipt,
)
from turnwire.sap.spec import (
    RiskTolerance as RiskTolerance,
)
from turnwire.sap.spec import (
    Status as Status,
)
from turnwire.sap.transports import bus as bus
from turnwire.sap.transports import http as http
from turnwire.sap.transports import mcp as mcp
from turnwire.sap.transports import nats as nats
from turnwire.sap.transports.bus import Bus as Bus
from turnwire.sap.vetting import Vetting as Vetting
