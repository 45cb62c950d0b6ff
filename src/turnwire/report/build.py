"""``report``: reads a log twice, in bounded memory, makes the page's data of it, and puts the page together.

The page is the sentences that open it, template, style and scripts, and the data as an island that nothing can break
out of.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

import numpy as np

from turnwire.atomic import AtomicFile
from turnwire.errors import MissingDependency, expect_number
from turnwire.log.engine.all_wires import of_formats
from turnwire.log.scanning import TALLIES
from turnwire.read.grouping import tokens_of
from turnwire.read.pairing import COUNTS, Pairs, columns_of
from turnwire.report.records import (
    COLUMNS,
    REJECT_COLUMNS,
    Chunk,
    Conversation,
    Conversations,
    Cube,
    Details,
    MessageSample,
    Quarantine,
    twice,
)
from turnwire.showing import counted, visible

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.log.engine.run import Tell
    from turnwire.read.grouping import Group
    from turnwire.report.records import Key

ANSWER_COLUMNS = ("wire", "rule", "asks", *COUNTS, "timed", "min", "p50", "p90", "p99", "max")
"""Columns of the answers to the questions of one rule. timed: answers that tell a latency; min to max: microseconds,
None where there is none."""


class Answers:
    """Takes chunks of records in order, and pairs questions with their answers."""

    def __init__(self) -> None:
        self.pairs = Pairs()
        self._longest = -1
        self.slowest: int | None = None
        """The number of the conversation with the slowest answer."""

    def add(self, chunk: Chunk) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Looks at the records of a chunk. Gives the conversations of requests, and of those that were answered."""
        found = list(self.pairs.take(chunk.texts, chunk.keys))
        for _, settled in found:
            if len(settled) and (longest := int(settled[:, 1].max())) > self._longest:
                self._longest, self.slowest = longest, int(settled[settled[:, 1].argmax(), 0]) % (1 << 64)
        return [(asked, settled[:, 0]) for asked, settled in found]

    def rows(self) -> list[list[Any]]:
        """Returns rows of ANSWER_COLUMNS, one for each kind of request."""
        rows = []
        for (wire, rule), pairing in self.pairs.found.items():
            times, counts = pairing.latencies, pairing.counts
            quantiles = (times.quantile(share) for share in (0.5, 0.9, 0.99))
            row = [wire, rule, sorted(pairing.rule.requests), *(counts[name] for name in COUNTS)]
            rows += [[*row, times.count, times.least, *quantiles, times.most]] if pairing.seen else []
        return rows


def meter(tokenizer: str | None, wire: str | None = None) -> tuple[Any, str | None]:
    """A tokenizer by its name, or None and why: "default" takes the usual one where it is installed, and none for
    formats, whose records tell what they used; None measures nothing.

    Raises MissingDependency or ValueError for a tokenizer that was named and is not there.
    """
    if tokenizer is None:
        return None, "tokens were not requested"
    if tokenizer == "default" and of_formats(wire):
        return None, "these records tell their own tokens, which turnwire usage adds up"
    from turnwire.tokens.tokenizer import DEFAULT, load

    try:
        return load(DEFAULT if tokenizer == "default" else tokenizer), None
    except MissingDependency as missing:
        if tokenizer != "default":
            raise MissingDependency("counting tokens needs a tokenizer: pip install 'turnwire[tokens]'") from missing
        return None, "counting tokens needs the extra: pip install 'turnwire[tokens]'"


MOST_TOOLS = 60
TOOL_COLUMNS = ("wire", "tool", "calls", "answered", "failed")
"""Columns of the tools that are shown, those with the most failed calls first."""
MAX_MESSAGES = 2000
"""Messages that a page shows in full unless another number is asked for."""


class Report:
    """A report. ``data`` contains the data of its page as plain dicts and lists; see docs/report.md."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    def __repr__(self) -> str:
        return f"<Report of {counted(self.data['totals']['records'], 'record')}>"

    def html(self) -> str:
        """Returns the page, one self-contained HTML document."""
        return render(self.data)

    def write(self, path: str | Path) -> None:
        """Writes the page to a file, completely or not at all. Raises OSError."""
        data = self.html().encode()
        with AtomicFile(path) as file:
            file.write(data)


def report(
    source: Any,
    *,
    wire: str | None = None,
    title: str | None = None,
    tokenizer: str | None = "default",
    max_messages: int = MAX_MESSAGES,
    now: datetime | None = None,
    progress: Tell | bool = False,
    enough: Callable[[], bool] = lambda: False,
) -> Report:
    """Reads a log twice and reports volume, senders and receivers, conversations, latencies, rejects and tokens.

    Args:
        source: any source of :func:`turnwire.scan`.
        wire: only the records of this wire; None for all wires.
        title: the heading of the page; by default the name of the log.
        tokenizer: a tokenizer of ``turnwire.tokens``; "default" is o200k_base if the extra is installed, otherwise
            tokens are not counted; None counts no tokens. Formats tell the tokens of their responses: "default" counts
            no others, and ``turnwire.read.usage`` names the costliest conversation.
        max_messages: messages shown in full, from the largest and the faulty conversations. Figures always cover all
            records.
        now: the creation time that the page shows; the current time by default.
        progress: as of :func:`turnwire.scan`.
        enough: asked after each batch. If it is true, the report covers what was read by then.

    Memory is bounded for logs of any size; a stream is copied to a temporary file. Raises OSError if a file cannot be
    read, ValueError for invalid arguments, MissingDependency for a named tokenizer that is not installed.
    """
    import turnwire

    expect_number(max_messages, "max_messages", 1)
    counter, why_not = meter(tokenizer, wire)
    cube, answers, conversations, quarantine = Cube(), Answers(), Conversations(), Quarantine()
    columns = (*COLUMNS, *columns_of(wire))
    with twice(source) as again:
        scan = turnwire.scan(again, wire=wire, columns=columns, progress=progress)
        told, stopped = 0, False
        for chunk in _chunks(scan):
            tokens = tokens_of(chunk.batch, counter)
            rejects = list(scan.rejects.since(told))
            told += len(rejects)
            cube.add(chunk, tokens)
            conversations.add(chunk, tokens, rejects)
            for asked, answered in answers.add(chunk):
                conversations.settle(asked, answered)
            quarantine.add(rejects)
            if stopped := enough():
                break
        quarantine.add(list(scan.rejects.since(told)))
        measure = "record_bytes" if counter is None else "tokens"
        extremes = {"slowest": answers.slowest, "dearest": conversations.most(measure)}
        met = [name for name, count in scan.counts.wires.items() if count] if of_formats(wire) and not stopped else ()
        if dearest := conversations.costliest(again, met):
            measure, extremes["dearest"] = "tokens", dearest
        sample = MessageSample(conversations.chosen(max_messages, extremes.values()), counter)
        sample.read(_chunks(turnwire.scan(again, wire=wire, columns=columns, errors="skip")))
    counts = scan.counts
    sums = cube.shown()
    data: dict[str, Any] = {
        "title": _title(source) if title is None else title,
        "made": (now or datetime.now(UTC)).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "version": str(turnwire.__version__),
        "totals": {
            **dict(zip(TALLIES, counts, strict=False)),
            "agents": len(cube.agents),
            "tokenizer": None if counter is None else counter.name,
            "why_no_tokens": why_not,
            "stopped": stopped,
        },
        **sums,
        **_messages(sums["wires"], sample.kept),
        "total_conversations": len(conversations.groups),
        "more_conversations": conversations.groups.folded > 0,
        "answer_columns": list(ANSWER_COLUMNS),
        "answers": answers.rows(),
        "tools": [
            [row[name] for name in TOOL_COLUMNS]
            for row in answers.pairs.calls.rows(MOST_TOOLS)
            if row["stat"] == "tool"
        ],
        "reject_counts": [[wire, reason, count] for (wire, reason), count in sorted(quarantine.counts.items())],
        "reject_columns": list(REJECT_COLUMNS),
        "rejects": quarantine.kept,
    }
    named = {what: conversations.found.get(key or 0) for what, key in extremes.items()}
    data["findings"] = [list(one) for one in findings(data, measure, **named)]
    return Report(data)


def _title(source: Any) -> str:
    """A heading with the name of the first source, if it has one."""
    first, *more = source if isinstance(source, (list, tuple)) and source else [source]
    if not isinstance(first, (str, Path)):
        return "Report on a log"
    name = "standard input" if first == "-" else Path(first).name or str(first)
    return f"Report on {visible(name)}" + (f" and {counted(len(more), 'more source')}" if more else "")


def _chunks(scan: Any) -> Iterator[Chunk]:
    """The batches of a scan that have records, each with the number of its file."""
    files: dict[str | None, int] = {}
    for batch in scan:
        if len(batch):
            yield Chunk(batch, files.setdefault(batch.file, len(files)))


def _messages(wires: list[str], kept: list[Conversation]) -> dict[str, Any]:
    """The messages that are held, in the order of the log, and the conversations and files that they name by number."""
    files: dict[str | None, int] = {None: -1}
    found = [(message, place) for place, one in enumerate(kept) for message in one.messages]
    found.sort(key=lambda pair: pair[0].number)
    return {
        "conversations": [[wires.index(str(one.key[0])), one.key[1], one.count] for one in kept],
        "message_columns": list(Details._fields[1:]),
        "messages": [
            [place, *message[2:8], files.setdefault(message.file, len(files) - 1), *message[9:]]
            for message, place in found
        ],
        "files": [name for name in files if name is not None],
    }


_UNITS = ((86_400_000_000, "d"), (3_600_000_000, "h"), (60_000_000, "min"), (1_000_000, "s"), (1_000, "ms"), (1, "µs"))
MOST_NAME = 60
"""Characters of a name in a sentence."""


class Finding(NamedTuple):
    """A sentence, the part of the page that shows it, and the filter that part needs, as the page's address has it."""

    text: str
    part: str
    filters: str = ""


def findings(
    data: dict[str, Any],
    measure: str,
    slowest: tuple[Key, Group] | None = None,
    dearest: tuple[Key, Group] | None = None,
) -> Iterator[Finding]:
    """The sentences about the data of a page; one where all is well. measure: "tokens", or "record_bytes" where these
    were not counted. slowest, dearest: the conversation with the slowest answer and the one with the most of the
    measure."""
    if data["totals"]["stopped"]:
        yield Finding(f"Reading was stopped after {counted(data['totals']['records'], 'record')}.", "volume")
    yield _damage(data)
    answers = [dict(zip(data["answer_columns"], row, strict=True)) for row in data["answers"]]
    asked, open_ = sum(one["requests"] for one in answers), sum(one["waiting"] + one["given_up"] for one in answers)
    if open_:
        verb = "has" if open_ == 1 else "have"
        yield Finding(f"{open_:,} of {counted(asked, 'request')} {verb} no answer.", "answers")
    elif asked:
        yield Finding(
            f"All {asked:,} requests were answered." if asked > 1 else "The only request was answered.", "answers"
        )
    if failed := sum(row[-1] for row in data["tools"]):
        (_, tool, *_, most), calls = data["tools"][0], counted(sum(row[2] for row in data["tools"]), "tool call")
        yield Finding(f"{failed:,} of {calls} failed, most often {_name(tool or '(no name)')} ({most:,}).", "answers")
    slow = max((one for one in answers if one["max"] is not None), key=lambda one: one["max"], default=None)
    if slow is not None:
        place = None if slowest is None else slowest[0][1]
        where = "" if place is None else f", in conversation {_name(place)}"
        text = f"The slowest answer took {duration(slow['max'])}{where} (median {duration(slow['p50'])})."
        yield Finding(text, *(("answers",) if place is None else ("talks", _filter(place))))
    elif open_ < asked:
        yield Finding("Answer times are unknown: requests or answers have no times.", "answers")
    if dearest is not None and (name := dearest[0][1]) is not None:
        cost = counted(getattr(dearest[1], measure), "token" if measure == "tokens" else "byte")
        word = "costliest" if measure == "tokens" else "largest"
        text = f"The {word} conversation is {_name(name)} ({dearest[0][0]}): {cost}."
        yield Finding(text, "talks", _filter(name))


def _damage(data: dict[str, Any]) -> Finding:
    counts = sorted(data["reject_counts"], key=lambda row: (-row[2], row[:2]))
    damaged = sum(count for *_, count in counts)
    if not damaged:
        return Finding("Nothing is damaged.", "rejects")
    wire, reason, count = counts[0]
    most, number = ("", "") if len(counts) == 1 else (", most often", f" ({count:,})")
    verb = "is" if damaged == 1 else "are"
    return Finding(f"{counted(damaged, 'record')} {verb} damaged{most}: {reason} in {wire}{number}.", "rejects")


def _filter(conversation: str) -> str:
    return urlencode({"conversation": conversation})


def _name(text: str) -> str:
    return text if len(text) <= MOST_NAME else f"{text[:MOST_NAME]}…"


def duration(microseconds: int) -> str:
    """A duration in words: two digits at least, one unit."""
    size, unit = next((one for one in _UNITS if microseconds >= one[0]), _UNITS[-1])
    amount = microseconds / size
    return f"{amount:,.1f} {unit}" if amount < 10 and size > 1 else f"{amount:,.0f} {unit}"


STYLES = ("base.css", "parts.css")
SCRIPTS = (
    "text.js",
    "dom.js",
    "model.js",
    "filters.js",
    "address.js",
    "charts.js",
    "matrix.js",
    "answers.js",
    "sequence.js",
    "rejects.js",
    "main.js",
)
"""In the order in which they need each other; together they are one function of their own."""
_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&"}


def render(data: dict[str, Any]) -> str:
    """The document of a report's data.

    Nothing in it is fetched, and a policy with the hashes of its own style and script forbids everything else: no text
    of a log can become a script, even if the page had a fault.
    """
    style = "".join(_asset(name) for name in STYLES)
    script = '"use strict";\n(() => {\n' + "".join(_asset(name) for name in SCRIPTS) + "})();\n"
    parts = {
        "title": escape(data["title"]),
        "policy": _policy(style, script),
        "style": style,
        "script": script,
        "findings": _findings(data),
        "data": island(data),
    }
    page = _asset("page.html")
    first, *rest = page.split("{{")
    return first + "".join(parts[name] + text for name, text in (part.split("}}", 1) for part in rest))


def island(value: Any) -> str:
    """JSON that is safe in a script element: ASCII, without <, > and &, so without </script>, <!-- and U+2028."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).translate(_ESCAPES)


@cache
def _asset(name: str) -> str:
    return files("turnwire.report").joinpath("assets", name).read_text("utf-8")


def _policy(style: str, script: str) -> str:
    rules = {
        "default-src": "'none'",
        "script-src": _hash(script),
        "style-src": _hash(style),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _findings(data: dict[str, Any]) -> str:
    """The sentences that open the page, each a link to what shows it."""
    links = (
        f'<li><a href="#{escape(filters or part)}" data-part="{part}">'
        f'<bdi dir="auto">{escape(visible(text))}</bdi></a></li>'
        for text, part, filters in data.get("findings", ())
    )
    return "".join(links)
