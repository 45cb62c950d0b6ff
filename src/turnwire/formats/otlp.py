"""OTLP in JSON: the spans and logs of OpenTelemetry, each one a record, wherever they stand in an export."""

from turnwire.formats.table import Epoch, Format, Layout, Loose

TABLE = Format(
    "otlp",
    "Spans and logs of OpenTelemetry (OTLP)",
    (
        Layout(
            signs={"traceId": (), "spanId": (), "startTimeUnixNano": ()},
            kind="span",
            columns={
                "conversation": "traceId",
                "id": "spanId",
                "parent": "parentSpanId",
                "subject": "name",
                "time": Epoch("startTimeUnixNano"),
                "error": Loose("status/message"),
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
)
DESCRIPTOR = TABLE.descriptor()
