"""The columns of a JSON wire, as a ``BulkScanner`` made from its plans. The search of logs fills them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from turnwire import _backend
from turnwire.contract import LIMITS, WORK, BulkScanner, Column, DocumentPlan, Refusal
from turnwire.errors import DecodeError, Reason
from turnwire.json.plan import WirePlan, check_plans
from turnwire.json.text import reader

_core = _backend.load("json.text")

REASONS: tuple[Reason | None, ...] = (None, *Reason)
"""The reason of each code of a reject."""

INNER = Column("inner", "i64", nullable=True)
TIME = Column("time", "timestamp", nullable=True)


def bits(columns: Sequence[Column]) -> tuple[dict[str, int], dict[str, int]]:
    """Bits of ``present`` by column: those for a value, and those for a text with escapes."""
    valid = {column.name: bit for bit, column in enumerate(columns)}
    texts = [column.name for column in columns if column.kind == "text"]
    escaped = {name: bit for bit, name in enumerate(texts, len(valid))}
    if len(valid) + len(escaped) > 64:
        raise ValueError("these columns do not fit into one mask")
    return valid, escaped


plain: Callable[[bytes], bytes] = _core.plain
"""Returns the content of a JSON string without its escapes."""


def scanner(
    plans: tuple[WirePlan, ...],
    columns: tuple[Column, ...],
    *,
    decode: Callable[..., Any],
    common: Mapping[str, tuple[str, str]],
    fault: Callable[[dict[str, Any]], Refusal | None] | None = None,
    documents: DocumentPlan | None = None,
) -> BulkScanner:
    """Returns the scanner of some JSON wires; ``columns`` are the wires' own columns, to which ``inner`` and ``time``
    are added.

    common: as of :class:`BulkScanner`, without the time, which the column ``time`` has. fault: why ``decode`` rejects
    an object, or None (``BulkScanner.refusal``). documents: the wire's, if it has any.
    Raises ValueError if a fill matches no column, or a common column has no source.
    """
    whole = (INNER, TIME, *columns)
    there = {column.name for column in (*whole, *WORK)}
    for plan in plans:
        filled = {fill.column for variant in plan.variants for fill in variant.fills}
        if not filled <= there:
            raise ValueError(f"{plan.wire}: a fill names the column {min(filled - there)}, which does not exist")
    for name, (_, source) in common.items():
        if name == "time" and source != name:
            raise ValueError(f"{plans[0].wire}: the common column time is filled by Fill('time', 'time', path)")
        if source not in there:
            raise ValueError(f"{plans[0].wire}: there is no column {source}, from which {name} comes")
    check_plans(plans, whole)
    valid, escaped = bits(whole)

    def message(data: Any, unknown: str = "error") -> Any:
        return decode(data)

    wire = plans[0].wire
    read = reader(wire).read

    def refusal(raw: bytes) -> Refusal | None:
        if raw[:1] != b"{" or fault is None:
            return None
        try:
            fields = read(raw, LIMITS)
        except DecodeError as error:
            return error.reason, error.text, error.path
        return fault(fields)

    return BulkScanner(
        wire=wire,
        columns=whole,
        present="u8",
        bits=valid,
        escaped=escaped,
        plain=plain,
        reasons=REASONS,
        decode=message,
        common={**common, "time": ("column", "time")},
        json=True,
        refusal=refusal,
        plans=plans,
        documents=documents,
    )
