"""``report``: reads a log once, in bounded memory, and makes the page's data of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from turnwire.atomic import AtomicFile
from turnwire.errors import expect_number
from turnwire.phrases import counted
from turnwire.report.cube import Cube
from turnwire.report.figures import ANSWER_COLUMNS, Answers, meter, tokens_of
from turnwire.report.findings import findings
from turnwire.report.page import render
from turnwire.report.records import COLUMNS, Chunk, Details
from turnwire.report.sample import (
    MOST_REJECT_BYTES,
    REJECT_COLUMNS,
    Conversation,
    MessageSample,
    Quarantine,
)

MAX_MESSAGES = 2000
"""Messages that a page shows in full unless another number is asked for."""

Progress = Callable[[int, int], object]
"""(bytes read, records met) -> anything"""


class Report:
    """A finished report. ``data`` is what its page shows: plain dicts and lists, as documented in docs/report.md."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    def __repr__(self) -> str:
        return f"<Report of {counted(self.data['totals']['records'], 'record')}>"

    def html(self) -> str:
        """The page: one document that needs nothing else."""
        return render(self.data)

    def write(self, path: str | Path) -> None:
        """Writes the page to a file, whole or not at all. Raises OSError."""
        data = self.html().encode()
        with AtomicFile(path) as file:
            file.write(data)


def report(
    source: Any,
    *,
    wire: str | None = None,
    title: str = "Agent traffic",
    tokenizer: str | None = "default",
    max_messages: int = MAX_MESSAGES,
    now: datetime | None = None,
    progress: Progress | None = None,
) -> Report:
    """Reads a log and tells about it: volume, parties, conversations, latencies, rejects, tokens.

    Args:
        source: what :func:`turnwire.scan` takes.
        wire: only the records of this wire; None takes all wires.
        title: the heading of the page.
        tokenizer: a name that ``turnwire.tokens`` knows; "default" is o200k_base where the extra is installed, and
            "not measured" otherwise; None measures nothing.
        max_messages: messages shown in full. The figures are those of all records whatever it is.
        now: the time that the page says it was made; the present by default.
        progress: called after each batch with how many bytes and records were read.

    Memory is bounded whatever the size of the log. Raises OSError where a file cannot be read, ValueError for arguments
    that make no sense, MissingDependency for a tokenizer that is named and not there.
    """
    import turnwire

    expect_number(max_messages, "max_messages", 1)
    used = meter(tokenizer)
    cube, sample, quarantine = Cube(), MessageSample(max_messages), Quarantine()
    answers = Answers()
    scan = turnwire.scan(source, wire=wire, columns=COLUMNS)
    files: dict[str | None, int] = {}
    told = 0
    for batch in scan:
        chunk = Chunk(batch, files.setdefault(batch.file, len(files)))
        tokens = tokens_of(chunk, used)
        cube.add(chunk, tokens)
        sample.add(chunk, tokens)
        answers.add(chunk, tokens)
        told += quarantine.add(scan.rejects.since(told))
        if progress is not None:
            progress(scan.counts.bytes, cube.records)
    quarantine.add(scan.rejects.since(told))
    counts = scan.counts
    sums = cube.shown()
    data: dict[str, Any] = {
        "title": title,
        "made": (now or datetime.now(UTC)).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "version": str(turnwire.__version__),
        "totals": {
            "records": cube.records,
            "bytes": {
                "all": counts.bytes,
                "records": counts.record_bytes,
                "rejects": counts.reject_bytes,
                "text": counts.text_bytes,
            },
            "agents": len(cube.agents),
            "tokenizer": used.name if used.measure is not None else None,
            "why_no_tokens": used.why_not,
        },
        **sums,
        **_messages(sums["wires"], *sample.kept()),
        "answer_columns": list(ANSWER_COLUMNS),
        "answers": answers.rows(),
        "reject_counts": [[wire, reason, count] for (wire, reason), count in sorted(quarantine.counts.items())],
        "reject_columns": list(REJECT_COLUMNS),
        "rejects": quarantine.kept,
        "reject_bytes": MOST_REJECT_BYTES,
    }
    extremes = answers.extremes(used.measure is not None)
    data["findings"] = [list(one) for one in findings(data, extremes)]
    return Report(data)


def _messages(wires: list[str], kept: list[Conversation], total: int, more: bool) -> dict[str, Any]:
    """The messages that are held, in the order of the log, and the conversations and files that they name by number."""
    files: dict[str | None, int] = {None: -1}
    found = [(message, place) for place, one in enumerate(kept) for message in one.messages]
    found.sort(key=lambda pair: pair[0].number)
    return {
        "conversations": [[wires.index(one.key[0]), one.key[1], one.count] for one in kept],
        "total_conversations": total,
        "more_conversations": more,
        "message_columns": list(Details._fields[1:]),
        "messages": [
            [place, *message[2:8], files.setdefault(message.file, len(files) - 1), *message[9:]]
            for message, place in found
        ],
        "files": [name for name in files if name is not None],
    }
