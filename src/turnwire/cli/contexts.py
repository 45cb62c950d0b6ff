"""``--context FILE``: what a conversion needs and messages do not say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from turnwire.cli import inputs
from turnwire.cli.text import printable
from turnwire.errors import WireError

if TYPE_CHECKING:
    from turnwire.conversion import Context


def context_of(path: str) -> Context:
    """The context that a file holds: JSON where its name ends so, TOML otherwise. Raises UsageError, Refused,
    OSError."""
    from turnwire.conversion import Context

    text = inputs.content(path, inputs.SETTINGS)
    form = "JSON" if path.lower().endswith(".json") else "TOML"
    import tomllib

    try:
        values = json.loads(text) if form == "JSON" else tomllib.loads(text.decode())
    except UnicodeDecodeError as error:
        raise click.UsageError(printable(f"{path}: this is not {form}: byte {error.start} is not UTF-8")) from None
    except (ValueError, RecursionError) as error:
        raise click.UsageError(printable(f"{path}: this is not {form}: {error}")) from None
    try:
        return Context.from_dict(values)
    except WireError as error:
        raise click.UsageError(printable(f"{path}: {error}")) from None
