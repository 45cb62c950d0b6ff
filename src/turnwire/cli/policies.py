"""``--policy FILE`` and ``--now``: by what else messages are judged than by their specification."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from turnwire import registry
from turnwire.cli import inputs
from turnwire.cli.text import printable
from turnwire.errors import WireError

POLICY = "policy"
if TYPE_CHECKING:
    Parameter = click.ParamType[float]
else:
    Parameter = click.ParamType


def policy_option(command: Any) -> Any:
    """The option --policy of a command."""
    text = "Who may send what, instead of the specification's own table: a TOML file."
    return click.option("--policy", type=inputs.FILE, metavar="FILE", help=text)(command)


def loaded(path: str | None, wires: Iterable[str]) -> dict[str, Any]:
    """Wire -> the policy that a file holds, for those of ``wires`` that have one. Raises UsageError where none has, or
    the file holds none, and OSError."""
    if path is None:
        return {}
    found: dict[str, Any] = {}
    for wire in wires:
        checklist = registry.wire(wire).checklist
        load = None if checklist is None else checklist.loads.get(POLICY)
        if load is None:
            continue
        try:
            found[wire] = load(path)
        except WireError as error:
            raise click.UsageError(printable(f"{path}: {error}")) from None
    if not found:
        raise click.UsageError("--policy is about wires with roles, and this has none")
    return found


class Moment(Parameter):
    """A moment: "now", or an ISO 8601 date and time, UTC where it has no zone. Its value: seconds since 1970."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The seconds. Fails for what is not a moment."""
        if value == "now":
            return datetime.now(UTC).timestamp()
        try:
            found = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f'{value!r} is neither "now" nor an ISO 8601 date and time', param, ctx)
        return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp()
