"""What the bulk scan of JSON wires is told, in plain Python: the first part of the twin of ``json/lines.pyx``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from turnwire._pure.json.rows import Reading
from turnwire.contract import Column
from turnwire.errors import Reason
from turnwire.json.plan import WirePlan


class Plan:
    """Wires and columns: what ``scan_block`` is told. See the native twin."""

    def __init__(
        self,
        plans: Sequence[WirePlan],
        columns: Sequence[Column],
        valid: Mapping[str, int],
        escaped: Mapping[str, int],
        reasons: Sequence[Reason | None],
        nslip: tuple[int, Sequence[int], Sequence[int]] | None = None,
    ) -> None:
        self.nslip = nslip
        self.plans = tuple(plans)
        self.columns = tuple(columns)
        self.valid = dict(valid)
        self.escaped = dict(escaped)
        self.reasons = tuple(reasons)
        self.reading = Reading(plans)
        self.inside = [f'"{key}"'.encode() for plan in plans for key in plan.inside]
        self.torn = [f'"{key}"'.encode() for plan in plans for key in plan.torn]
        self.kinds = {column.name: column.kind for column in columns}
