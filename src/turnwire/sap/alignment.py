"""Whether a cached outcome is aligned with a task that asks for it again (section 6, mustAlign).

The key holds capability, essence, territory, principles and output contract; this looks at what it leaves out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from turnwire.sap.spec import PressureLevel, RiskTolerance

SNAPSHOT = ("constraints", "objectives", "pressure", "pressureLevel", "riskTolerance")
"""The fields of the context that a cache record keeps for this."""

_LEVELS = [level.value for level in PressureLevel]
_RISKS = [risk.value for risk in RiskTolerance]

Align = Callable[[Mapping[str, Any], Mapping[str, Any]], "str | None"]
"""(context asked for, context at storing) -> why not, or None for aligned."""


def aligned(asked: Mapping[str, Any], stored: Mapping[str, Any]) -> str | None:
    """Why an outcome vetted under ``stored`` may not answer ``asked``, or None.

    It may when it was vetted at least as strictly: every constraint and objective asked for was in force, the decision
    level was no lower, the risk tolerance no higher, and every pressure named now was known and no lower.
    """
    for name in SNAPSHOT:
        if asked.get(name) != stored.get(name):
            break
    else:
        return None  # the common case, and the quick one
    for name in ("constraints", "objectives"):
        missing = set(asked.get(name, ())) - set(stored.get(name, ()))
        if missing:
            return f"{name} not in force then: {', '.join(sorted(missing))}"
    if not _at_least(asked.get("pressureLevel"), stored.get("pressureLevel"), _LEVELS):
        return "it was decided at a lower pressure level"
    if not _at_least(stored.get("riskTolerance"), asked.get("riskTolerance"), _RISKS, unknown=_RISKS[-1]):
        return "it was decided at a higher risk tolerance"
    then = stored.get("pressure", {})
    for principle, pressure in asked.get("pressure", {}).items():
        if then.get(principle, -1) < pressure:
            return f"the pressure of {principle} was lower or unknown then"
    return None


def _at_least(wanted: Any, found: Any, order: list[str], unknown: str | None = None) -> bool:
    """Whether ``found`` is no lower than ``wanted``; nothing wanted is always met, an unknown value never is."""
    wanted = unknown if wanted is None else wanted
    found = unknown if found is None else found
    if wanted is None or wanted == found:
        return True
    return wanted in order and found in order and order.index(found) >= order.index(wanted)


def within(thresholds: Mapping[str, float]) -> Align:
    """:func:`aligned`, and no pressure asked for beyond its learned threshold: what is harder is decided afresh."""

    def align(asked: Mapping[str, Any], stored: Mapping[str, Any]) -> str | None:
        for principle, pressure in asked.get("pressure", {}).items():
            if pressure > thresholds.get(principle, 100):
                return f"the pressure of {principle} is beyond its learned threshold"
        return aligned(asked, stored)

    return align
