"""The plan of the search: wires and columns, compiled for the readable twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from turnwire.contract import Column
from turnwire.errors import Reason
from turnwire.json._rows_py import MessageSpans
from turnwire.json.plan import WirePlan, check_plans


class Plan:
    """Wires and columns. See the native twin in ``_native/json/plan.pxi``."""

    def __init__(
        self,
        plans: Sequence[WirePlan],
        columns: Sequence[Column],
        valid: Mapping[str, int],
        escaped: Mapping[str, int],
        reasons: Sequence[Reason | None],
        nslip: tuple[int, Sequence[int], Sequence[int]] | None = None,
    ) -> None:
        check_plans(plans, columns)
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
