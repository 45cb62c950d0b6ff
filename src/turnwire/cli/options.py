"""The options that commands have in common: their types, what they are read as, and the scan that they ask for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from math import isnan
from typing import TYPE_CHECKING, Any

import click

from turnwire import registry
from turnwire.cli import inputs
from turnwire.cli.outcome import EXIT_ZERO, usage_errors
from turnwire.cli.output import printable
from turnwire.contract import COMMON, FORMATS, BulkScanner, Column
from turnwire.errors import WireError

if TYPE_CHECKING:
    from turnwire.conversion import Context
    from turnwire.log import Batch, Counts, Scan

    StrChoice = click.Choice[str]
else:  # generic in newer versions of click only
    StrChoice = click.Choice


# --- types ----------------------------------------------------------------------------------------------------------


class WireName(StrChoice):
    """The name of a wire, of those that are registered when a command runs. formats: that of a format of real traffic,
    too, or "formats" for all of these; wires: whether that of a wire is one; more: other names."""

    def __init__(self, *, wires: bool = True, formats: bool = False, more: Sequence[str] = ()) -> None:
        super().__init__(())
        self._wires, self._formats, self._more = wires, formats, more

    @property
    def choices(self) -> tuple[str, ...]:
        """The names of the wires, and of the formats where one may be named."""
        known = registry.codes() if self._formats else registry.names()
        found = known if self._wires else known[len(registry.names()) :]
        return (*found, FORMATS) if self._formats else (*found, *self._more)

    @choices.setter
    def choices(self, _: object) -> None:
        """Ignored: the initial choices of click may change later."""


class By(StrChoice):
    """A key of groups. A session is a conversation: either word stands for the other, which a command has."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The key as the command has it. Fails for any other."""
        other = {"session": "conversation", "conversation": "session"}.get(value)
        return super().convert(other if other in self.choices else value, param, ctx)


class FileName(click.Path):
    """The name of a file, which a shell completes as such; neither empty nor a URL where that is ``refused`` here."""

    def __init__(self, refused: bool = True) -> None:
        super().__init__()
        self.name = "file"  # which helps show as FILE
        self._refused = refused

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name as it is. Fails where it is empty, or a URL."""
        if self._refused and "://" in value and inputs.is_url(value):
            self.fail(f"{value} is a URL; a local file is required", param, ctx)
        return name(value) if self._refused else value


def moment(text: str) -> float:
    """The type of an option: "now", or an ISO 8601 date and time, UTC if it has no zone, as seconds since 1970.
    Raises BadParameter."""
    if text == "now":
        return datetime.now(UTC).timestamp()
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(f'{text!r} is neither "now" nor an ISO 8601 date and time') from None
    return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp()


def name(text: str) -> str:
    """A name, of a file say, that is not empty: the type of an option. Raises BadParameter."""
    if not text:
        raise click.BadParameter("the name is empty")
    return text


FILE, SOURCE = FileName(), FileName(refused=False)
"""Types of parameters. An empty name of a source is told by :func:`turnwire.cli.inputs.problem`."""


# --- options of several commands ------------------------------------------------------------------------------------


sources_argument = click.argument("sources", nargs=-1, required=True, type=SOURCE, metavar="SOURCES...")
wire_option = click.option("--wire", type=WireName(), help="Only the records of this wire; all wires by default.")
format_option = click.option(
    "--wire",
    type=WireName(formats=True),
    help="Only records of this wire or format ('formats': any format); all wires by default.",
)
fences_option = click.option(
    "--fences", is_flag=True, help="Treat Space headers inside Markdown code fences as content."
)
unknown_option = click.option(
    "--unknown",
    type=click.Choice(["error", "keep"]),
    default="error",
    help="Reject or keep slots and frames that this version does not define.",
)
policy_option = click.option(
    "--policy", type=FILE, help="TOML file that replaces the specification's table of who may send what."
)


def _keep_exit_zero(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    context.meta[EXIT_ZERO] = wanted


exit_zero_option = click.option(
    "--exit-zero",
    is_flag=True,
    expose_value=False,
    callback=_keep_exit_zero,
    help="Exit with 0 instead of 1, so that findings do not fail a script.",
)


def output_option(text: str) -> Callable[[Any], Any]:
    """The option --output of a command, with its help."""
    return click.option("-o", "--output", type=FILE, metavar="FILE|-", help=text)


BY = ["conversation", "sender", "receiver", "kind", "wire", "model", "day", "tool"]
"""The keys that add up records: ``turnwire.read.grouping.BY``, which needs NumPy."""


def by_options(command: Any) -> Any:
    """The options --by and --top of a command."""
    text = "Group the records by this value, the largest first."
    command = click.option("--top", type=click.IntRange(min=1), default=10, help="Maximum rows of each list.")(command)
    return click.option("--by", type=By(BY), help=text)(command)


verbose_option = click.option(
    "-v", "--verbose", is_flag=True, help="Report every such record on standard error, not only the first ones."
)
_SCAN_OPTIONS = (
    click.option(
        "--where",
        "conditions",
        multiple=True,
        metavar="COLUMN=...",
        help="Only records with one of these values (A,B), in this range (FROM..TO), or with this text (text=...). "
        "Repeatable: all conditions must hold.",
    ),
    click.option("--threads", type=click.IntRange(1, 64), default=1, help="Number of threads that scan."),
    unknown_option,
    fences_option,
    click.option(
        "--borrow",
        is_flag=True,
        help="Map files into memory: fastest, but a file that shrinks meanwhile kills the process.",
    ),
    click.option(
        "--batch-bytes", type=click.IntRange(1, 1 << 30), default=2 << 20, help="Bytes of input read at once."
    ),
)


def scan_options(command: Any, wires: bool = True) -> Any:
    """The options --where, --threads, --borrow and --batch-bytes of a command; of one that reads wires --unknown and
    --fences, too."""
    for option in reversed(_SCAN_OPTIONS):
        if wires or option not in (unknown_option, fences_option):
            command = option(command)
    return command


def scanner(wire: str | None) -> BulkScanner:
    """The scanner of a wire, or for None that of all wires."""
    from turnwire.log.engine.all_wires import finder  # NumPy, which commands that do not scan do without

    return finder(wire).scanner


def scanned(
    names: Sequence[str], wire: str | None, columns: Sequence[str] | None, options: dict[str, Any], **more: Any
) -> Scan:
    """The scan that the options ask for, nothing of it read yet. Raises UsageError for what makes no sense."""
    import turnwire

    names_of_options = ("threads", "unknown", "fences", "borrow", "batch_bytes", "errors")
    passed = {name: options[name] for name in names_of_options if name in options}
    wanted = conditions(options.get("conditions", ()), scanner(wire).columns)
    with usage_errors():
        return turnwire.scan(list(names), wire=wire, columns=columns, where=wanted, **passed, **more)


def read_all(
    names: Sequence[str],
    wire: str | None,
    columns: Sequence[str],
    options: dict[str, Any],
    take: Callable[[Batch], object],
    batches: Callable[[Scan], Iterable[Batch]] | None = None,
) -> tuple[Counts, KeyboardInterrupt | None]:
    """Hands each batch of the scan that the options ask for to ``take``, and shows progress. batches: makes them of a
    scan that collects its rejects. Returns the counts, and the interruption that ended the scan. Raises as
    :func:`scanned`."""
    settings = {**options, "errors": "collect" if batches else "skip"}
    found = scanned(names, wire, columns, settings, progress=not options.get("quiet"))
    try:
        for batch in batches(found) if batches else found:
            take(batch)
    except KeyboardInterrupt as interruption:
        return found.counts, interruption
    return found.counts, None


# --- --where --------------------------------------------------------------------------------------------------------


_NUMBERS = ("u64", "i64", "u8")
_SIGN = re.compile(r"[!<>~]")
_ONLY = (
    "there is no 'not' and no comparison; COLUMN=A,B takes any of these values, COLUMN=FROM..TO numbers and times of a "
    "range, either end of which may be left out (..TO is below TO), text=... what contains this. "
    "Anything else is a question for SQL: 'turnwire scan ... -o FILE.parquet' writes what DuckDB and Polars read"
)


def conditions(given: Sequence[str], columns: Sequence[Column]) -> dict[str, Any] | None:
    """The values of --where as ``turnwire.scan`` takes them: "COLUMN=A,B" is any of the values, "COLUMN=FROM..TO"
    (numbers and times) a range without its end, "text=..." what a record contains. Several of one column are any of
    them, those of different columns all of them.

    columns: those of the wire. Raises UsageError.
    """
    kinds = {column.name: column.kind for column in (*COMMON, *columns)} | {"offset": "i64", "length": "i64"}
    wanted: dict[str, Any] = {}
    for condition in given:
        name, equals, value = condition.partition("=")
        name = name.strip()
        if name[-1:] in ("!", "<", ">", "~") or (not equals and _SIGN.search(condition)):
            raise click.UsageError(f"--where {condition!r}: {_ONLY}")
        if not equals or not name:
            raise click.UsageError(f"--where must be COLUMN=VALUE, not {condition!r}")
        found = _condition(name, kinds.get(name, "text"), value)
        if name not in wanted:
            wanted[name] = found
        elif isinstance(found, tuple) or isinstance(wanted[name], tuple):
            raise click.UsageError(f"--where names {name!r} twice; a range cannot be combined with other values")
        else:
            wanted[name] |= found
    return wanted or None


def _condition(name: str, kind: str, value: str) -> Any:
    if name == "text":
        return {value}
    if ".." in value and kind in (*_NUMBERS, "f64", "timestamp"):
        start, _, stop = value.partition("..")
        return tuple(_value(name, kind, end) if end else None for end in (start, stop))
    return {_value(name, kind, one) for one in value.split(",")}


def _number(text: str) -> float:
    number = float(text)
    if isnan(number):
        raise ValueError
    return number


_READ: dict[str, tuple[Callable[[str], Any], str]] = {
    **dict.fromkeys(_NUMBERS, (int, "a whole number")),
    "f64": (_number, "a number"),
    "bool": ({"true": True, "false": False}.__getitem__, "true or false"),
}
"""Kind of column -> how a value of it is read, and what it must be; other kinds take any text."""


def _value(name: str, kind: str, text: str) -> Any:
    read, what = _READ.get(kind, (str, ""))
    try:
        return read(text)
    except (ValueError, KeyError):
        raise click.UsageError(f"--where: {name} must be {what}, not {text!r}") from None


# --- files that options name ----------------------------------------------------------------------------------------


def settings_of(path: str, read: Callable[[dict[str, Any]], Any]) -> Any:
    """Gives what ``read`` makes of a file of settings: JSON if its name ends in ``.json``, else TOML.

    Raises UsageError, CommandRefused, OSError.
    """
    import tomllib

    text = inputs.content(path)
    form = "JSON" if path.lower().endswith(".json") else "TOML"
    try:
        found = json.loads(text) if form == "JSON" else tomllib.loads(text.decode())
        if not isinstance(found, dict):
            raise ValueError("a table is expected")
    except (ValueError, RecursionError) as error:
        why = f"byte {error.start} is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        raise click.UsageError(printable(f"{path}: this is not {form}: {why}")) from None
    try:
        return read(found)
    except (ValueError, RecursionError) as error:
        raise click.UsageError(printable(f"{path}: {error}")) from None


def context_of(path: str) -> Context:
    """The context of --context. Raises as :func:`settings_of`."""
    from turnwire.conversion import Context

    found: Context = settings_of(path, Context.from_dict)
    return found


def policies(path: str | None, wires: Iterable[str]) -> dict[str, Any]:
    """Wire -> the policy of --policy, for those of ``wires`` that have one. Raises UsageError if none has, or the
    file holds none, and OSError."""
    if path is None:
        return {}
    found: dict[str, Any] = {}
    for wire in wires:
        checklist = registry.wire(wire).checklist
        load = None if checklist is None else checklist.loads.get("policy")
        if load is None:
            continue
        try:
            found[wire] = load(path)
        except WireError as error:
            raise click.UsageError(printable(f"{path}: {error}")) from None
    if not found:
        raise click.UsageError("--policy applies to wires with roles, which this one does not have")
    return found


def position(path: str | None) -> Any:
    """The position of --resume: {} if there is none yet, None without a file. Raises UsageError, OSError."""
    if path is None:
        return None
    try:
        place = json.loads(inputs.content(path))
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError):
        place = None
    if not isinstance(place, dict):
        raise click.UsageError(f"{path!r} does not contain the position of a scan")
    return place


def keep_position(path: str | None, place: dict[str, Any]) -> None:
    """Writes the position of a scan. Raises OSError."""
    from turnwire.atomic import AtomicFile

    if path is not None:
        with AtomicFile(path) as file:
            file.write(json.dumps(place).encode() + b"\n")
