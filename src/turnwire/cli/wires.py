"""Which wire a command reads: the one that was named, or all of them at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from turnwire import registry
from turnwire.contract import BulkScanner
from turnwire.errors import nearest

if TYPE_CHECKING:
    Parameter = click.ParamType[str]
else:
    Parameter = click.ParamType


class WireName(Parameter):
    """The name of a wire, whichever there are when a command runs."""

    name = "choice"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The name. Fails in words that list all names."""
        if (guess := nearest(value, registry.names())) not in (None, value):
            self.fail(f"{value!r} is not a wire; did you mean {guess!r}?", param, ctx)
        return _choice().convert(value, param, ctx)

    def get_metavar(self, *args: Any, **named: Any) -> str | None:
        """How help shows it: all names."""
        return _choice().get_metavar(*args, **named)

    def get_missing_message(self, *args: Any, **named: Any) -> str | None:
        """What is said where it is missing: all names."""
        return _choice().get_missing_message(*args, **named)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """The names that begin so."""
        return _choice().shell_complete(ctx, param, incomplete)


def _choice() -> click.Choice[str]:
    return click.Choice(registry.names())


def wire_option(command: Any) -> Any:
    """The option --wire of a command."""
    text = "Only the records of this wire; all wires by default."
    return click.option("--wire", type=WireName(), help=text)(command)


def scanner(wire: str | None) -> BulkScanner:
    """What a scan of the wire knows, or for None a scan of all wires."""
    from turnwire.log.engine.all_wires import finder  # NumPy, which commands that do not scan do without

    return finder(wire).scanner


def told(counts: dict[str, int]) -> str:
    """Which wires there were: the one that was looked for, or of several how many records of each."""
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{wire} {count:,}" for wire, count in counts.items() if count)
