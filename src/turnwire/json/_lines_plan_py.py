"""The plan of a bulk scan of JSON wires, in plain Python: the first part of the twin of ``json/lines.pyx``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from turnwire.contract import Column
from turnwire.errors import Reason
from turnwire.json._line_wires_py import escaped_marks
from turnwire.json._rows_py import MessageSpans
from turnwire.json.plan import WirePlan, check_plans

MOST_LINE_MARKS = 8


class Plan:
    """Wires and columns: what ``scan_block`` is told. See the native twin.

    tokens: further wires whose records are tokens, which the native twin does not have: ``next`` finds the first from a
    place on, ``marks`` are in strings that are worth decoding for them (``log.engine.text_wires.TextWires``).
    """

    def __init__(
        self,
        plans: Sequence[WirePlan],
        columns: Sequence[Column],
        valid: Mapping[str, int],
        escaped: Mapping[str, int],
        reasons: Sequence[Reason | None],
        nslip: tuple[int, Sequence[int], Sequence[int]] | None = None,
        lines: Sequence[tuple[int, Sequence[bytes]]] = (),
        tokens: Any = None,
    ) -> None:
        self.lines = tuple((wire, tuple(map(bytes, marks))) for wire, marks in lines)
        self.marks = tuple(mark for _, marks in self.lines for mark in marks)
        if len(self.marks) > MOST_LINE_MARKS or not all(self.marks):
            raise ValueError(f"line wires have at most {MOST_LINE_MARKS} marks, and none of no bytes")
        check_plans(plans, columns)
        self.tokens = tokens
        self.marks += () if tokens is None else tokens.marks
        self.escaped_marks = escaped_marks(self.marks)
        self.nslip = nslip
        self.plans = tuple(plans)
        self.columns = tuple(columns)
        self.valid = dict(valid)
        self.escaped = dict(escaped)
        self.reasons = tuple(reasons)
        self.reading = MessageSpans(plans)
        self.inside = [f'"{key}"'.encode() for plan in plans for key in plan.inside]
        self.torn = [f'"{key}"'.encode() for plan in plans for key in plan.torn]
        self.kinds = {column.name: column.kind for column in columns}
