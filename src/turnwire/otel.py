"""Exports the sessions in logs as OpenTelemetry spans, with any exporter of its SDK (the extra ``otel``)."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from turnwire.errors import needs
from turnwire.read.exporting import Span, spans
from turnwire.read.turns import Turns, merged

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter

_BATCH = 512


def export_spans(
    source: Any, exporter: SpanExporter, *, wire: str | None = None, conversation: str | None = None, **options: Any
) -> int:
    """Exports a span for each model response and each tool call in the sessions of logs; returns the number of spans.

    exporter: a ``SpanExporter`` of ``opentelemetry.sdk``; it is not shut down. source, wire, conversation, options:
    those of :class:`turnwire.read.turns.Turns`. Span ids are derived from ids in the log, so repeated exports have
    the same ids. Raises OSError if the exporter rejects spans, MissingDependency without the SDK, and the errors of a
    scan.
    """
    with needs("otel", "spans for an exporter need OpenTelemetry"):
        from opentelemetry.sdk.trace.export import SpanExportResult
    found = Turns(source, wire=wire, conversation=conversation, **options)
    total = 0
    each = (one for one in spans(merged(found)) if isinstance(one, Span))
    while some := list(islice(each, _BATCH)):
        if exporter.export([_readable(span) for span in some]) is not SpanExportResult.SUCCESS:
            raise OSError(f"the exporter rejected spans {total + 1} to {total + len(some)}")
        total += len(some)
    return total


def _readable(span: Span) -> ReadableSpan:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

    def context(of: bytes) -> SpanContext:
        trace = int.from_bytes(span.trace, "big")
        return SpanContext(trace, int.from_bytes(of, "big"), is_remote=False, trace_flags=TraceFlags(1))

    return ReadableSpan(
        span.name,
        context=context(span.id),
        parent=None if span.parent is None else context(span.parent),
        resource=Resource(span.resource()),
        attributes=span.attributes,
        kind=SpanKind[span.kind.upper()],
        status=Status(StatusCode.ERROR if span.failed else StatusCode.UNSET),
        start_time=span.start,
        end_time=span.end,
    )
