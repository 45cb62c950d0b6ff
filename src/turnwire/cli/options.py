"""The options that commands which scan have in common, and the scan that they ask for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from turnwire.cli import inputs, where, wires
from turnwire.cli.choices import Choice
from turnwire.cli.outcome import misused

if TYPE_CHECKING:
    from turnwire.log import Scan

_FENCES = click.option(
    "--fences", is_flag=True, help="Headers of Space documents inside code fences of Markdown are content."
)
_OPTIONS = (
    click.option(
        "--where",
        "conditions",
        multiple=True,
        metavar="COLUMN=...",
        help="Only records with one of these values (A,B), in this range (FROM..TO), or that contain this (text=...); "
        "repeatable: all must hold.",
    ),
    click.option("--threads", type=click.IntRange(1, 64), default=1, help="Threads that scan.", show_default=True),
    click.option(
        "--unknown",
        type=Choice(["error", "keep"]),
        default="error",
        help="Take records with slots and frames that this version does not know.",
        show_default=True,
    ),
    _FENCES,
    click.option("--borrow", is_flag=True, help="Map files into memory: fastest, but they must not shrink meanwhile."),
    click.option(
        "--batch-bytes",
        type=click.IntRange(1, 1 << 30),
        default=2 << 20,
        help="Bytes of input read at once.",
        show_default=True,
    ),
    click.option(
        "--progress/--no-progress", "progress", default=None, help="Show progress on a terminal (by default)."
    ),
)


def fences_option(command: Any) -> Any:
    """The option --fences of a command."""
    return _FENCES(command)


def scan_options(command: Any) -> Any:
    """The options --where, --threads, --unknown, --fences, --borrow, --batch-bytes and --progress of a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def scanned(
    names: Sequence[str], wire: str | None, columns: Sequence[str] | None, options: dict[str, Any], **more: Any
) -> Scan:
    """The scan that the options ask for, nothing of it read yet. Raises UsageError for what makes no sense."""
    import turnwire

    passed = {name: options[name] for name in ("threads", "unknown", "fences", "borrow", "batch_bytes", "errors")}
    wanted = where.parsed(options["conditions"], wires.scanner(wire).columns)
    try:
        return turnwire.scan(list(names), wire=wire, columns=columns, where=wanted, **passed, **more)
    except (TypeError, ValueError) as error:
        raise misused(error) from None


def position(path: str | None) -> Any:
    """The position that a file holds; {} where there is none yet; None without a file. Raises UsageError, Refused,
    OSError."""
    if path is None:
        return None
    try:
        place = json.loads(inputs.content(path, inputs.SETTINGS))
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError):
        place = None
    if not isinstance(place, dict):
        raise click.UsageError(f"{path!r} holds no position of a scan")
    return place


def keep_position(path: str | None, place: dict[str, Any]) -> None:
    """Writes where a scan stands. Raises OSError."""
    from turnwire.atomic import AtomicFile

    if path is not None:
        with AtomicFile(path) as file:
            file.write(json.dumps(place).encode() + b"\n")
