"""OTLP in JSON: the spans and logs of OpenTelemetry."""

from turnwire.formats import table
from turnwire.formats.openai import chat_parts
from turnwire.formats.parts import MessageRule, PartRule
from turnwire.formats.table import Above, Between, Columns, Digits, Epoch, Format, Layout, Loose, Source, Truth, Words


def _text(name: str) -> Source:
    return Loose(f"attributes/[{name}]/stringValue")


def _counts(*names: str, at: str = "gen_ai.usage") -> tuple[Source, ...]:
    return tuple(Digits(f"attributes/[{at}.{name}]/intValue") for name in names)


_FAILED = Loose("attributes/[turnwire.failed]/boolValue")
GEN_AI: Columns = {
    "model": (_text("gen_ai.response.model"), _text("gen_ai.request.model")),
    "sender": (_text("gen_ai.agent.name"), _text("turnwire.sender")),
    "tool": _text("gen_ai.tool.name"),
    "call_id": _text("gen_ai.tool.call.id"),
    "request_id": _text("gen_ai.response.id"),
    "stop_reason": (
        Loose("attributes/[gen_ai.response.finish_reasons]/arrayValue/values/*/stringValue"),
        _text("gen_ai.completion.0.finish_reason"),
    ),
    "input_tokens": _counts("input_tokens", "prompt_tokens"),
    "output_tokens": _counts("output_tokens", "completion_tokens"),
    "cache_read_tokens": _counts("cache_read.input_tokens", "cache_read_input_tokens", "details.cache_read_tokens"),
    "cache_write_tokens": _counts(*(f"cache_creation{dot}input_tokens" for dot in "._"), "details.cache_write_tokens"),
    "reasoning_tokens": _counts("reasoning.output_tokens", "reasoning_tokens", "details.reasoning_tokens"),
    "project": _text("process.working_directory"),
    **{name: _text(f"turnwire.{name}") for name in ("receiver", "origin", "speed")},
    **{name: _counts(name, at="turnwire") for name in ("cache_write_1h_tokens", "total_tokens", "sequence")},
    "cost": tuple(Loose(f"attributes/[{name}.cost]/doubleValue") for name in ("turnwire", "operation")),
    "sidechain": Loose("attributes/[turnwire.sidechain]/boolValue"),
    "failed": _FAILED,
}
"""Columns -> their attributes, the first of which an export writes."""
_SESSION = (_text("gen_ai.conversation.id"), _text("session.id"))
_OPERATIONS = Words(
    "attributes/[gen_ai.operation.name]/stringValue",
    {"execute_tool": "tool_call", "invoke_agent": "turn", "create_agent": "turn"},
)

_EVENTS = {
    **{f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")},
    "gen_ai.choice": "assistant",
}
"""Events of older conventions -> the roles of their messages."""


def _numbered(name: str, role: str | None) -> MessageRule:
    """The messages of OpenLLMetry, in attributes such as ``gen_ai.prompt.0.content``; role: that of answers."""
    call = PartRule("attributes/[tool_calls.*]", "call", (), "", "attributes/[id]", "attributes/[name]")
    answer = PartRule("", "result", (), "attributes/[content]", "attributes/[tool_call_id]")
    parts = (
        answer._replace(when=("attributes/[role]", "tool")),
        *chat_parts("attributes/[{}]"),
        call._replace(arguments=("attributes/[arguments]",)),
    )
    return MessageRule(f"attributes/[{name}.*]", parts, {"sender": "attributes/[role]"}, role, retold=role is None)


def _events(at: str, name: str, *members: str) -> tuple[MessageRule, ...]:
    """The messages in events at a path, with the paths of their names and members."""
    content, of = (members[0].format(member) for member in ("content", "id"))
    result = PartRule("", "result", text=content, id=of, when=(name, "gen_ai.tool.message"))
    parts = (result, *(rule for member in members for rule in chat_parts(member)))
    return tuple(
        MessageRule(at, parts, {}, role, when=(name, event), retold=at != "" and event != "gen_ai.choice")
        for event, role in _EVENTS.items()
    )


_TOOL, _ANSWERS = "attributes/[gen_ai.tool", ("tool_call_response", "server_tool_call_response")
_PARTS = (
    PartRule("parts/*", "text", ("text",), text="content"),
    PartRule("parts/*", "reasoning", ("reasoning",), text="content"),
    PartRule("parts/*", "call", ("tool_call", "server_tool_call"), "", "id", "name", ("arguments", "server_tool_call")),
    PartRule("parts/*", "result", _ANSWERS, id="id", text=("response", "result", _ANSWERS[1])),
)
"""The parts of a message in the attributes."""
_CALL = PartRule("", "call", (), "", f"{_TOOL}.call.id]", f"{_TOOL}.name]", (f"{_TOOL}.call.arguments]",))
_TEXT = (PartRule("", "text", text="content"),)
_ROLES = {"user": "user", "system": "system", "assistant": "assistant", "tool_result": "tool"}
"""The names of events in our exports -> their roles."""

TABLE = Format(
    "otlp",
    "Spans and logs of OpenTelemetry (OTLP)",
    (
        Layout(
            signs={"traceId": (), "spanId": (), "startTimeUnixNano": ()},
            kind="span",
            kinds=(table.Present("attributes/[agent_name]/stringValue", "turn"), _OPERATIONS),  # of older Pydantic AI
            columns={
                **GEN_AI,
                "conversation": (*_SESSION, "traceId"),
                "origin": (_text("turnwire.origin"), "traceId"),
                "id": "spanId",
                "parent": "parentSpanId",
                "subject": "name",
                "time": (Epoch("attributes/[turnwire.time]/intValue"), Epoch("startTimeUnixNano")),
                "duration_ms": Between("endTimeUnixNano", start="startTimeUnixNano"),
                "error": (Loose("status/message"), _text("error.type")),
                "failed": (_FAILED, Above("status/code"), Truth("status/code", words={"STATUS_CODE_ERROR": True})),
                "text": tuple(_text(f"gen_ai.{said}.0.content") for said in ("completion", "prompt")),
            },
            needs={"spanId": ("string",)},
            marks=(2, ("spanId", "startTimeUnixNano", "endTimeUnixNano")),
            nested="traceId",
        ),
        Layout(
            signs={"timeUnixNano": ()},
            one_of=("body", "severityNumber", "severityText", "eventName"),
            kind="log",
            columns={
                **{name: where for name, where in GEN_AI.items() if name != "request_id"},
                "conversation": (*_SESSION, "traceId"),
                "parent": "spanId",
                "time": Epoch("timeUnixNano"),
                "subject": (Loose("eventName"), Loose("severityText")),
                "text": "body/stringValue",
            },
            marks=(2, ("timeUnixNano", "observedTimeUnixNano", "severityNumber", "severityText")),
            nested="timeUnixNano",
        ),
    ),
    copy_of=("id", "conversation"),
    repeats=("turn", "tool_call"),
    keys=("spanId", "timeUnixNano"),
    cached_is_input=True,
    asks=(),  # the span of a call has its result
    enclosing=(("resourceSpans", "scopeSpans", "spans"), ("resourceLogs", "scopeLogs", "logRecords")),
    parts=(
        PartRule("body", "text", text="stringValue"),
        _CALL._replace(when=(_OPERATIONS.path, "execute_tool")),
        PartRule(f"{_TOOL}.call.result]", "result"),
    ),
    messages=(
        MessageRule("attributes/[gen_ai.system_instructions]/*", _TEXT, {}, "system", retold=True),
        MessageRule("attributes/[gen_ai.input.messages]/*", _PARTS, {"sender": "role"}, retold=True),
        MessageRule("attributes/[gen_ai.output.messages]/*", _PARTS, {"sender": "role"}),
        *(_numbered(f"gen_ai.{name}", role) for name, role in (("prompt", None), ("completion", "assistant"))),
        *_events(
            "events/*", "name", "attributes/[{}]", "attributes/[message]/{}", "attributes/[gen_ai.event.content]/{}"
        ),
        *(MessageRule("", role=role, when=("attributes/[event.name]", kind)) for kind, role in _ROLES.items()),
        *_events("", "eventName", "body/{}", "body/message/{}"),
        *_events("", "attributes/[event.name]", "body/{}", "body/message/{}"),
    ),
)
DESCRIPTOR = TABLE.descriptor()
