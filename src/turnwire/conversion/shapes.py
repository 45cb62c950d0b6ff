"""What the conversion knows of each wire: how a message becomes a flat table of fields and is made from one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from turnwire.conversion import csp, kick, nslip, sap, sstp
from turnwire.conversion.context import Names
from turnwire.conversion.paths import Fields, Path

Facts = dict[str, Any]


class Shape(NamedTuple):
    """One wire.

    split, join: message -> fields, in the message's own order, and back; join(split(message)) == message.
    kind: fields -> (act or None, kind as in tables.PLACES). begin: (act, facts) -> (kind, fields that the kind fixes).
    facts: what fields say beyond the tables. finish: completes fields by the facts, and gives the paths that are
    needed beyond the tables. carry: the field that holds what was carried, or None. unseen: fields that tell where a
    message was read rather than what it says.
    """

    split: Callable[[Any], Fields]
    join: Callable[[Fields], Any]
    kind: Callable[[Fields], tuple[str | None, str]]
    begin: Callable[[str, Facts], tuple[str, Fields]]
    facts: Callable[[Fields, str, Names], Facts]
    finish: Callable[[Fields, Facts, Names], tuple[Path, ...]]
    carry: Path | None = None
    unseen: frozenset[Path] = frozenset()


def _no_facts(fields: Fields, kind: str, names: Names) -> Facts:
    return {}


def _nothing_more(fields: Fields, facts: Facts, names: Names) -> tuple[Path, ...]:
    return ()


SHAPES: dict[str, Shape] = {
    "nslip": Shape(nslip.split, nslip.join, nslip.kind, nslip.begin, _no_facts, _nothing_more),
    "csp": Shape(csp.split, csp.join, csp.kind, csp.begin, csp.facts, _nothing_more, unseen=csp.UNSEEN),
    "sstp": Shape(sstp.split, sstp.join, sstp.kind, sstp.begin, _no_facts, _nothing_more, sstp.CARRY),
    "sap": Shape(sap.split, sap.join, sap.kind, sap.begin, _no_facts, _nothing_more, sap.CARRY),
    "kick": Shape(kick.split, kick.join, kick.kind, kick.begin, kick.facts, kick.finish, kick.CARRY),
}
