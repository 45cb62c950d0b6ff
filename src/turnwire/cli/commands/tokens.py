"""``turnwire tokens``: what the messages of logs cost a model, what they would cost otherwise, and a budget to keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import click

from turnwire.cli import inputs, wires
from turnwire.cli.choices import Choice
from turnwire.cli.contexts import context_of
from turnwire.cli.outcome import BAD_RECORDS, GOOD, NOTHING, misused
from turnwire.cli.output import complain, standard_output
from turnwire.cli.text import printable
from turnwire.phrases import counted

if TYPE_CHECKING:
    from turnwire.tokens.budget import Spent, Tally
    from turnwire.tokens.means import Mean
    from turnwire.tokens.prices import Price
    from turnwire.tokens.tokenizer import Tokenizer

SHOWN = 5
COLUMNS = ("wire", "tokenizer", "messages", "bytes", "tokens", "mean", "largest", "where")


@click.command("tokens", short_help="Count the tokens of messages in logs, price them, keep a budget.")
@inputs.sources_argument
@wires.wire_option
@click.option(
    "--tokenizer",
    "names",
    multiple=True,
    type=inputs.TOKENIZER,
    metavar="NAME|FILE",
    help="Whose tokens; o200k_base by default. Repeatable.",
)
@click.option("--pattern", metavar="NAME|REGEX", help="How text is split for a .tiktoken FILE.")
@click.option(
    "--per",
    type=Choice(["message", "conversation"]),
    default="message",
    help="What is measured, and what --max limits.",
    show_default=True,
)
@click.option(
    "--max", "budget", type=click.IntRange(min=0), metavar="N", help="Exit with 1 where one is over N tokens."
)
@click.option("--compare", is_flag=True, help="What a message costs in JSON, in TOON, as a session and in other wires.")
@click.option("--advise", is_flag=True, help="What the log costs in other formats, and what to change first.")
@click.option(
    "--price", metavar="IN[,CACHED]", help="The price of a million tokens, and of cached ones; shows the advice."
)
@click.option(
    "--context",
    type=inputs.FILE,
    metavar="FILE",
    help="TOML or JSON with what other wires need: the fields of turnwire's Context.",
)
@click.option(
    "--sample", type=click.IntRange(min=1), default=500, help="Messages to try other wires on.", show_default=True
)
@click.option("--threads", type=click.IntRange(1, 64), default=1, help="Threads that count.", show_default=True)
@click.option("--html", type=inputs.FILE, metavar="FILE", help="Write a page with the advice.")
@click.option("-q", "--quiet", is_flag=True, help="No notes on standard error; the exit code says it.")
@click.option("--json", "as_json", is_flag=True, help="JSON lines instead of a table.")
def command(sources: tuple[str, ...], **options: Any) -> int:
    """Counts the tokens of all messages in SOURCES, as written.

    SOURCES are files, directories, globs, URLs, or - for standard input. Text in messages that looks like a special
    token is counted as text. Exits with 1 when a message or conversation is over --max, or a record is damaged; with 4
    when --max had nothing to count.
    """
    from turnwire.tokens.budget import spend

    names = inputs.checked(sources)
    if options["html"] is not None:
        inputs.refuse_overwriting(options["html"], names)
        inputs.expect_writable(options["html"])
    advised = options["advise"] or options["html"] is not None or options["price"] is not None
    counters, context, price = _prepared(options)
    budget = options["budget"] if options["per"] == "message" else None
    kept = options["sample"] if advised or options["compare"] else 0
    found = spend(list(names), counters, wire=options["wire"], budget=budget, sample=kept, threads=options["threads"])
    _show(found, options)
    if options["compare"] and found.spent:
        _compare(found, counters, context, options, advised)
    if advised and found.spent:
        _advise(found, counters, context, price, options)
    if not found.spent and not found.damaged and not options["quiet"]:
        inputs.tell_nothing(names, options["wire"], inputs.size(names) != 0)
    return _judged(found, options, names)


def _prepared(options: dict[str, Any]) -> tuple[list[Tokenizer], Any, Any]:
    """The tokenizers, the context and the price. Raises UsageError for what cannot be used, OSError."""
    from turnwire.tokens import load
    from turnwire.tokens.counting import DEFAULT

    try:
        pattern = options["pattern"]
        counters = [
            load(name, pattern=pattern if name.endswith(".tiktoken") else None)
            for name in options["names"] or (DEFAULT,)
        ]
        price = None if options["price"] is None else _price(options["price"])
    except (ValueError, TypeError) as error:
        raise misused(error) from None
    context = None if options["context"] is None else context_of(options["context"])
    return counters, None if context is None else context.replace(new_id=lambda: str(uuid4())), price


def _price(text: str) -> Price:
    from turnwire.tokens.prices import priced

    try:
        numbers = [float(each) for each in text.split(",")]
    except ValueError:
        raise ValueError(f"--price is a number, or two with a comma between them, not {text!r}") from None
    return priced({"--price": numbers})["--price"]


def _show(found: Tally, options: dict[str, Any]) -> None:
    from turnwire.cli.tables import table
    from turnwire.log.output.json_lines import json_line

    rows = [_row(spent, options["per"]) for spent in found.spent.values()]
    output = standard_output()
    if options["as_json"]:
        for row in rows:
            output.write(json_line(row))
    elif rows:
        shown = [{**row, "where": _place(row)} for row in rows]
        names = [("conversations" if name == "messages" else name) for name in COLUMNS]
        names = names if options["per"] == "conversation" else list(COLUMNS)
        names = [name for name in names if any(row.get(name) not in (None, "") for row in shown)]
        output.write(table(names, [[row.get(name) for name in names] for row in shown]).encode())
    output.flush()


def _row(spent: Spent, per: str) -> dict[str, Any]:
    """One line of the result. Messages without a conversation are in none of the conversations, but in the tokens."""
    meter = spent.meter
    row: dict[str, Any] = {
        "wire": spent.wire,
        "tokenizer": spent.tokenizer,
        "messages": meter.messages,
        "bytes": spent.bytes,
        "tokens": meter.tokens,
    }
    if per == "conversation":
        held = meter.conversations
        most = max(held, key=lambda name: held[name], default=None)
        mean = sum(held.values()) / len(held) if held else None
        largest = None if most is None else held[most]
        return {**row, "conversations": len(held), "mean": _rounded(mean), "largest": largest, "conversation": most}
    first = spent.largest[0]
    place = {"file": first.file, "line": first.line}
    return {**row, "mean": _rounded(meter.tokens / meter.messages), "largest": first.tokens, **place}


def _rounded(mean: float | None) -> float | None:
    return None if mean is None else round(mean, 1)


def _place(row: dict[str, Any]) -> str:
    if "conversation" in row:
        return str(row["conversation"] or "")
    return f"{inputs.shown(row['file'])}:{row['line']}"


COMPARED = ("format", "alone", "ratio", "together", "ratio together", "bytes", "carries all", "dropped")


def _compare(found: Tally, counters: list[Tokenizer], context: Any, options: dict[str, Any], advised: bool) -> None:
    """What a message costs in each format; what was not tried is listed with the advice, where there is one."""
    from turnwire.cli.tables import table
    from turnwire.log.output.json_lines import json_line
    from turnwire.tokens.advice import untried
    from turnwire.tokens.means import means

    output = standard_output()
    for one in means(found, counters, context=context):
        if options["as_json"]:
            output.write(json_line({"comparison": one.to_dict()}))
            continue
        cells = [_compared(row) for row in one.rows]
        kept = [place for place in range(len(COMPARED)) if any(row[place] not in (None, "") for row in cells)]
        names, rows = [COMPARED[place] for place in kept], [[row[place] for place in kept] for row in cells]
        decimals = {"alone": 1, "together": 1, "ratio": 2, "ratio together": 2, "bytes": 1}
        title = printable(f"{one.wire}, tokens of {one.tokenizer} for a message (means); ratio: to minified JSON")
        written = [spent.meter for (wire, name), spent in found.spent.items() if name == one.tokenizer and one.of(wire)]
        mean = sum(meter.tokens for meter in written) / one.messages
        messages = counted(one.messages, "message")
        lines = [
            f"as written: {mean:,.1f}, the mean of {messages}; text between them is not counted",
            f"alone: {one.sampled:,} of {messages}, each a text of its own",
            f"together: the first {counted(one.first, 'message')} as one text, with what explains it",
            *(printable(f"{row.format}: {row.note}") for row in one.rows if row.note),  # a table would cut it
        ]
        if not advised:
            absent = {f"{one.wire} as {wire}": why for wire, why in one.absent.items()}
            lines += [f"not tried: {printable(line)}" for line in untried(absent, context is not None)]
        text = "".join(f"{line}\n" for line in lines)
        output.write(f"\n{title}\n{table(names, rows, decimals)}{text}".encode())
    output.flush()


def _compared(mean: Mean) -> tuple[Any, ...]:
    carries = {True: "yes", False: "no", None: None}[mean.round_trip]
    figures = mean.alone, mean.ratio, mean.together, mean.ratio_together, mean.bytes
    return (mean.format, *figures, carries, ", ".join(mean.dropped))


def _advise(found: Tally, counters: list[Tokenizer], context: Any, price: Any, options: dict[str, Any]) -> None:
    from turnwire.cli.tables import text_table
    from turnwire.log.output.json_lines import json_line
    from turnwire.tokens.advice import advice_on

    prices = {} if price is None else {counter.name: price for counter in counters}
    advice = advice_on(found, counters, prices, context=context)
    output = standard_output()
    if options["html"] is not None:
        advice.html(options["html"])
    if options["as_json"]:
        output.write(json_line({"advice": advice.to_dict()}))
    else:
        output.write(f"\n{advice.table(text_table)}".encode())
    output.flush()


def _judged(found: Tally, options: dict[str, Any], names: tuple[str, ...]) -> int:
    """The exit code; what is over the budget is said, and how many records could not be counted."""
    code = GOOD
    say = (lambda _: None) if options["quiet"] else complain
    if not found.spent and not options["quiet"]:
        inputs.tell_none(names, options["wire"])
    if found.damaged:
        verb, them = ("is", "it") if found.damaged == 1 else ("are", "them")
        say(f"{counted(found.damaged, 'damaged record')} {verb} not counted (turnwire scan shows {them})")
        code = BAD_RECORDS
    budget = options["budget"]
    if budget is None:
        return code
    if options["per"] == "conversation" and found.spent and not any(map(_conversations, found.spent.values())):
        say("no message here is of a conversation")
        return code or NOTHING
    if not found.spent:
        return code or NOTHING  # nothing was measured, so nothing keeps to the budget
    for spent in found.spent.values():
        over = _over(spent, options["per"], budget)
        for tokens, what in over[:SHOWN]:
            say(printable(f"{what}: {tokens:,} tokens ({spent.tokenizer}), {tokens - budget:,} over {budget:,}"))
        count = spent.over if options["per"] == "message" else len(over)
        if count > SHOWN:
            say(f"... and {count - SHOWN:,} more {spent.wire} {options['per']}s over {budget:,}")
        if count:
            code = BAD_RECORDS
    return code


def _conversations(spent: Spent) -> int:
    return len(spent.meter.conversations)


def _over(spent: Spent, per: str, budget: int) -> list[tuple[int, str]]:
    """The dearest that are over the budget, with their names."""
    if per == "message":
        return [
            (each.tokens, f"{inputs.shown(each.file)}:{each.line}") for each in spent.largest if each.tokens > budget
        ]
    held = spent.meter.conversations
    over = [(tokens, f"{spent.wire} conversation {name}") for name, tokens in held.items() if tokens > budget]
    return sorted(over, key=lambda each: -each[0])
