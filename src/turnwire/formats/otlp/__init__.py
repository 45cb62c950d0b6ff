"""OTLP in JSON: the spans and logs of OpenTelemetry."""

from turnwire.formats.parts import PartRule
from turnwire.formats.table import Between, Columns, Digits, Epoch, Format, Layout, Loose, Source, Words


def _text(name: str) -> Source:
    return Loose(f"attributes/[{name}]/stringValue")


def _count(name: str) -> Source:
    return Digits(f"attributes/[{name}]/intValue")


_GEN_AI: Columns = {
    "model": (_text("gen_ai.response.model"), _text("gen_ai.request.model")),
    "sender": _text("gen_ai.agent.name"),
    "tool": _text("gen_ai.tool.name"),
    "call_id": _text("gen_ai.tool.call.id"),
    "request_id": _text("gen_ai.response.id"),
    "stop_reason": Loose("attributes/[gen_ai.response.finish_reasons]/arrayValue/values/*/stringValue"),
    "input_tokens": (_count("gen_ai.usage.input_tokens"), _count("gen_ai.usage.prompt_tokens")),
    "output_tokens": (_count("gen_ai.usage.output_tokens"), _count("gen_ai.usage.completion_tokens")),
    "cache_read_tokens": _count("gen_ai.usage.cache_read.input_tokens"),
    "cache_write_tokens": _count("gen_ai.usage.cache_creation.input_tokens"),
    "reasoning_tokens": _count("gen_ai.usage.reasoning.output_tokens"),
}
_OPERATIONS = Words("attributes/[gen_ai.operation.name]/stringValue", {"execute_tool": "tool_call"})

TABLE = Format(
    "otlp",
    "Spans and logs of OpenTelemetry (OTLP)",
    (
        Layout(
            signs={"traceId": (), "spanId": (), "startTimeUnixNano": ()},
            kind="span",
            kinds=(_OPERATIONS,),
            columns={
                **_GEN_AI,
                "conversation": "traceId",
                "id": "spanId",
                "parent": "parentSpanId",
                "subject": "name",
                "time": Epoch("startTimeUnixNano"),
                "duration_ms": Between("endTimeUnixNano", start="startTimeUnixNano"),
                "error": (Loose("status/message"), _text("error.type")),
            },
            needs={"spanId": ("string",)},
            marks=(2, ("spanId", "startTimeUnixNano", "endTimeUnixNano")),
            nested=True,
        ),
        Layout(
            signs={"timeUnixNano": (), "body": ()},
            kind="log",
            columns={
                "conversation": "traceId",
                "parent": "spanId",
                "time": Epoch("timeUnixNano"),
                "subject": Loose("severityText"),
                "text": Loose("body/stringValue"),
            },
            needs={"body": ("object",)},
            marks=(2, ("timeUnixNano", "observedTimeUnixNano", "severityNumber", "severityText")),
            nested=True,
        ),
    ),
    copy_of=("id", "conversation"),
    keys=("spanId", "timeUnixNano"),
    cached_is_input=True,
    asks=(),  # the span of a call has its result
    parts=(PartRule("body", "text", text="stringValue"),),
)
DESCRIPTOR = TABLE.descriptor()
