"""``turnwire tokens``: what the messages of logs cost a model, what they would cost otherwise, and a budget to keep."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from shutil import which
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import click

from turnwire.cli import inputs, options
from turnwire.cli.commands.stats import show_groups
from turnwire.cli.outcome import BAD_RECORDS, GOOD, NOTHING, CommandRefused, usage_errors
from turnwire.cli.output import complain, printable, table, tell_left_out, text_table, write_json, write_text
from turnwire.showing import counted

if TYPE_CHECKING:
    from turnwire.tokens.advice import CountedLog, Price, TokenUse
    from turnwire.tokens.tokenizer import Tokenizer

SHOWN = 5


@click.command("tokens", short_help="Count and price the tokens of messages; enforce a budget.")
@options.sources_argument
@options.wire_option
@click.option(
    "--tokenizer",
    "names",
    multiple=True,
    type=options.SOURCE,
    metavar="NAME|FILE",
    help="Tokenizer name or file; o200k_base by default. Repeatable.",
)
@click.option(
    "--max", "budget", type=click.IntRange(min=0), metavar="N", help="Exit with 1 if a message has more than N tokens."
)
@options.by_options
@click.option("--compare", is_flag=True, help="Count a sample in JSON, in TOON, as a session and in other wires.")
@click.option("--advise", is_flag=True, help="Show what the log costs in other formats, and what to change first.")
@click.option(
    "--price",
    metavar="IN[,CACHED]",
    help="Price of a million tokens, and of cached ones; shows the advice or, with --by, the cost of each group.",
)
@click.option(
    "--context", type=options.FILE, help="TOML or JSON with the fields of turnwire.Context that other wires need."
)
@click.option("--sample", type=click.IntRange(min=1), default=500, help="Number of messages in the sample.")
@click.option("--threads", type=click.IntRange(1, 64), default=1, help="Number of threads that count.")
@click.option(
    "--mcp-schema",
    is_flag=True,
    help="Count the tokens of each tool of an MCP server: SOURCES are logs with answers to "
    "tools/list, JSON lists of tools, or the command that starts the server.",
)
@click.option("--html", type=options.FILE, help="Write a page with the advice.")
@click.option("-q", "--quiet", is_flag=True, help="No notes on standard error; only the exit code shows findings.")
@click.option("--json", "as_json", is_flag=True, help="JSON lines instead of a table.")
@options.exit_zero_option
def command(sources: tuple[str, ...], **settings: Any) -> int:
    """Counts the tokens of all messages in SOURCES, as written.

    SOURCES are files, directories, globs, URLs, or - for standard input. Special tokens in messages count as ordinary
    text. Exits with 1 if a message or conversation is over --max, or a record is damaged; with 4 if --max had nothing
    to count.
    """
    from turnwire.tokens.advice import spend

    names = sources if settings["mcp_schema"] else inputs.checked(sources)
    inputs.check_output(settings["html"], () if settings["mcp_schema"] else names)
    advised = settings["advise"] or settings["html"] is not None or settings["price"] is not None
    counters, context, price = _prepared(settings)
    if settings["mcp_schema"]:
        return _tools(names, counters, settings)
    if settings["by"] is not None:
        if any(settings[name] for name in ("advise", "html", "compare")):
            raise click.UsageError("--by cannot be combined with --compare, --advise or --html")
        return _by(names, counters, price, settings)
    kept = settings["sample"] if advised or settings["compare"] else 0
    chosen: dict[str, Any] = {name: settings[name] for name in ("wire", "threads")}
    chosen |= {"budget": settings["budget"], "sample": kept, "progress": not settings["quiet"]}
    found = spend(list(names), counters, **chosen)
    _show(found, settings)
    if settings["compare"] and found.spent:
        _compare(found, counters, context, settings["as_json"])
    if advised and found.spent:
        _advise(found, counters, context, price, settings)
    if not found.spent and not found.damaged and not settings["quiet"]:
        inputs.tell_none(names, settings["wire"])
    return _verdict(found, settings)


def _by(names: Sequence[str], counters: list[Tokenizer], price: Price | None, settings: dict[str, Any]) -> int:
    """Shows the tokens of each value, and what they cost to read once, for each tokenizer. A budget is that of a
    value."""
    code, by, budget = GOOD, settings["by"], settings["budget"]
    for counter in counters:
        named = {"tokenizer": counter.name} if settings["as_json"] else {}
        title = f"{printable(counter.name)}\n" if len(counters) > 1 else ""
        found, _, stopped = show_groups(
            names, counter, settings, lambda row, named=named: {**named, **_priced(row, price)}, title
        )
        if stopped is not None:
            raise stopped
        counts = found.counts
        groups = [] if budget is None else found.groups.top(None, "tokens")
        over = [
            (one.tokens, f"{wire or ''} {by} {value}".strip()) for (wire, value), one in groups if one.tokens > budget
        ]
        _tell_over(over, len(over), f"{by}s", counter.name, settings)
        code = BAD_RECORDS if counts.rejects or over else code
        if budget is not None and not groups:
            code = code or NOTHING  # nothing was measured, so nothing keeps to the budget
            if counts.records and not settings["quiet"]:
                complain(f"no message has a {by}")
    tell_left_out(0 if settings["quiet"] else counts.rejects)
    if not counts.records + counts.rejects and not settings["quiet"]:
        inputs.tell_none(names, settings["wire"])
    return code


def _tools(names: Sequence[str], counters: list[Tokenizer], settings: dict[str, Any]) -> int:
    """Shows the tokens of each tool of MCP servers, once for each tokenizer, and their sum."""
    from turnwire.tokens.schemas import tool_rows, tools_in, tools_of_server

    if (server := _server(names)) is not None:
        try:
            found = {shlex.join(server): tools_of_server(server)}
        except ConnectionError as error:
            raise CommandRefused([f"cannot list the tools of the MCP server: {printable(str(error))}"]) from None
    else:
        found = {name: tools_in(inputs.whole(name)) for name in inputs.files(inputs.checked(names))}
    tools = [tool for listed in found.values() for tool in listed.tools]
    cut = {name: listed.cut for name, listed in found.items() if listed.cut}
    for name, why in cut.items():
        complain(f"{inputs.shown(name)}: tools may be missing: {why}")
    code = BAD_RECORDS if cut else GOOD
    if not tools:
        if server is not None:
            complain(f"{printable(shlex.join(server))}: the MCP server has no tools")
        elif not cut:
            inputs.tell_none(names, None, "tool of an MCP server")
        return code or NOTHING
    for counter in counters:
        rows = list(tool_rows(tools, counter))
        total = {name: sum(row[name] for row in rows) for name in ("tokens", "schema", "bytes")}
        if settings["as_json"]:
            write_json({"tokenizer": counter.name, **row} for row in rows)
        else:
            shown = [*rows, {"tool": f"total ({len(rows)})", **total}]
            write_text(table(list(shown[0]), [list(row.values()) for row in shown]))
        if settings["budget"] is not None and total["tokens"] > settings["budget"]:
            _tell_over([(total["tokens"], f"all {counted(len(rows), 'tool')}")], 1, "", counter.name, settings)
            code = BAD_RECORDS
    return code


def _server(names: Sequence[str]) -> list[str] | None:
    """The command of a server, None for logs: its first word is a program, and a name in it is no text file."""
    command = shlex.split(names[0]) if len(names) == 1 and not os.path.exists(names[0]) else list(names)
    unread = (name for name in names if name != "-" and (inputs.problem(name) or inputs.looks_binary(name)))
    return command if command and which(command[0]) and next(unread, None) is not None else None


def _priced(row: dict[str, Any], price: Price | None) -> dict[str, Any]:
    """A row with its cost, where there is a price, after its tokens."""
    if price is None:
        return row
    names = list(row)
    behind = names.index("tokens") + 1
    cost = {"cost": round(price.of(row["tokens"]), 6)}
    return {name: {**row, **cost}[name] for name in (*names[:behind], "cost", *names[behind:])}


def _prepared(settings: dict[str, Any]) -> tuple[list[Tokenizer], Any, Any]:
    """The tokenizers, the context and the price. Raises UsageError for what cannot be used, OSError."""
    from turnwire.tokens import load
    from turnwire.tokens.tokenizer import DEFAULT

    with usage_errors():
        counters = [load(name) for name in settings["names"] or (DEFAULT,)]
        price = None if settings["price"] is None else _price(settings["price"])
    context = None if settings["context"] is None else options.context_of(settings["context"])
    return counters, None if context is None else context.replace(new_id=lambda: str(uuid4())), price


def _price(text: str) -> Price:
    from turnwire.tokens.advice import priced

    try:
        numbers = [float(each) for each in text.split(",")]
    except ValueError:
        raise ValueError(f"--price must be one number, or two separated by a comma, not {text!r}") from None
    return priced({"--price": numbers})["--price"]


def _show(found: CountedLog, settings: dict[str, Any]) -> None:
    rows = [_row(spent) for spent in found.spent.values()]
    if settings["as_json"]:
        write_json(rows)
    elif rows:
        names = ["wire", "tokenizer", "messages", "bytes", "tokens", "mean", "largest"]
        places = [f"{inputs.shown(row['file'])}:{row['line']}" for row in rows]
        cells = [[*(row[name] for name in names), place] for row, place in zip(rows, places, strict=True)]
        write_text(table([*names, "where"], cells))


def _row(spent: TokenUse) -> dict[str, Any]:
    """One line of the result."""
    row = {name: getattr(spent, name) for name in ("wire", "tokenizer", "messages", "bytes", "tokens")}
    first = spent.largest[0]
    mean = round(spent.tokens / spent.messages, 1)
    return {**row, "mean": mean, "largest": first.tokens, "file": first.file, "line": first.line}


def _compare(found: CountedLog, counters: list[Tokenizer], context: Any, as_json: bool) -> None:
    """Shows what the messages cost in each format, each by itself and together."""
    from turnwire.tokens.advice import comparisons

    for wire, messages, one in comparisons(found, counters, context=context):
        if as_json:
            told = {**one.facts, "wire": wire, "messages": messages, "compared": one.facts["messages"]}
            write_json([{"comparison": {**told, "rows": one.to_dicts(), "absent": one.absent}}])
            continue
        alone = one.facts["per"] == "message"
        some = f"{one.facts['messages']:,} of {counted(messages, 'message')}, each by itself"
        together = f"the first {counted(one.facts['messages'], 'message')} as one text"
        write_text(f"\n{printable(wire)}: {some if alone else together}\n{one.table(text_table)}")


def _advise(found: CountedLog, counters: list[Tokenizer], context: Any, price: Any, settings: dict[str, Any]) -> None:
    from turnwire.tokens.advice import advice_on

    prices = {} if price is None else {counter.name: price for counter in counters}
    advice = advice_on(found, counters, prices, context=context)
    if settings["html"] is not None:
        advice.html(settings["html"])
    if settings["as_json"]:
        write_json([{"advice": advice.to_dict()}])
    else:
        write_text(f"\n{advice.table(text_table)}")


def _verdict(found: CountedLog, settings: dict[str, Any]) -> int:
    """The exit code. Says which are over the budget, and how many records could not be counted."""
    code = GOOD
    if found.damaged:
        tell_left_out(0 if settings["quiet"] else found.damaged)
        code = BAD_RECORDS
    budget = settings["budget"]
    if budget is not None and not found.spent:
        return code or NOTHING  # nothing was measured, so nothing keeps to the budget
    for spent in found.spent.values() if budget is not None else ():
        large = [(one.tokens, f"{inputs.shown(one.file)}:{one.line}") for one in spent.largest if one.tokens > budget]
        _tell_over(large, spent.over, f"{spent.wire} messages", spent.tokenizer, settings)
        code = BAD_RECORDS if spent.over else code
    return code


def _tell_over(over: list[tuple[int, str]], count: int, what: str, tokenizer: str, settings: dict[str, Any]) -> None:
    """Tells which are over the budget, the first of ``count``."""
    budget = settings["budget"]
    for tokens, name in () if settings["quiet"] else over[:SHOWN]:
        complain(f"{name}: {tokens:,} tokens ({tokenizer}), {tokens - budget:,} over {budget:,}")
    if count > SHOWN and not settings["quiet"]:
        complain(f"... and {count - SHOWN:,} more {what} over {budget:,}")
