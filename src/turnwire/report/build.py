"""``report``: reads a log once, in bounded memory, and makes the page's data of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnwire.atomic import AtomicFile
from turnwire.errors import expect_number
from turnwire.phrases import counted
from turnwire.report.answers import Answers, Waiting
from turnwire.report.cube import Cube
from turnwire.report.measuring import Meter, meter, tokens_of
from turnwire.report.page import render
from turnwire.report.records import Records
from turnwire.report.rejected import MOST_BYTES, Quarantine, Reject, When
from turnwire.report.sample import Sample
from turnwire.report.sessions import Session, Sessions

if TYPE_CHECKING:
    from turnwire.report.cube import Shown
    from turnwire.report.details import Details
    from turnwire.report.sample import Kept

MAX_MESSAGES = 2000
"""Messages that a page shows in full unless another number is asked for."""
MESSAGE_COLUMNS = (
    *("conversation", "kind", "sender", "receiver", "sequence", "time", "subject"),
    *("file", "line", "offset", "length", "tokens", "raw", "fields"),
)

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
    expect_number(max_messages, "max_messages", 1)
    used = meter(tokenizer)
    cube, sample, quarantine, waiting = Cube(), Sample(max_messages), Quarantine(), Waiting()
    sessions = Sessions()
    records, when = Records(source, wire), When()
    for chunk in records:
        tokens = tokens_of(chunk, used)
        cube.add(chunk, tokens)
        sample.add(chunk, tokens)
        sessions.add(chunk, tokens)
        waiting.add(chunk)
        cube.damaged(when.add(chunk))
        cube.damaged(when.of(quarantine.add(records.rejects())))
        if progress is not None:
            progress(records.counts.bytes, cube.records)
    cube.damaged(when.of(quarantine.add(records.rejects())))
    shown = cube.shown()
    return Report(
        {
            "title": title,
            "made": (now or datetime.now(UTC)).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "version": _version(),
            "totals": _totals(records.counts, cube, used),
            **_cube(shown),
            **_messages(shown.wires, sample.kept()),
            "session_columns": list(Session._fields),
            "sessions": [list(one) for one in sessions.found(used)],
            "answer_columns": list(Answers._fields),
            "answers": [list(one) for one in waiting.found()],
            **_rejects(quarantine),
        }
    )


def _version() -> str:
    import turnwire

    return str(turnwire.__version__)


def _totals(counts: Any, cube: Cube, used: Meter) -> dict[str, Any]:
    return {
        "records": cube.records,
        "bytes": {"all": counts.bytes, "records": counts.records, "rejects": counts.rejects, "text": counts.text},
        "agents": len(cube.agents),
        "pairs": cube.pairs[0],
        "more_pairs": cube.pairs[1],
        "tokenizer": used.name if used.measure is not None else None,
        "why_no_tokens": used.why_not,
    }


def _cube(shown: Shown) -> dict[str, Any]:
    return {
        "wires": shown.wires,
        "kinds": shown.kinds,
        "agents": shown.agents,
        "folded_agents": shown.folded,
        "more_agents": shown.unnamed,
        "time": {
            "first": shown.first,
            "last": shown.last,
            "start": shown.start,
            "width": shown.width,
            "buckets": shown.buckets,
        },
        "cells": [list(column) for column in zip(*shown.cells, strict=True)] or [[] for _ in range(8)],
        "reject_cells": [list(row) for row in shown.rejects],
    }


def _messages(wires: list[str], kept: Kept) -> dict[str, Any]:
    files: dict[str | None, int] = {None: -1}
    found = [(message, place) for place, one in enumerate(kept.conversations) for message in one.messages]
    found.sort(key=lambda pair: pair[0].number)  # in the order of the log
    rows = [
        _message(message, conversation, files.setdefault(message.file, len(files) - 1))
        for message, conversation in found
    ]
    return {
        "conversations": [[wires.index(one.key[0]), one.key[1], one.count] for one in kept.conversations],
        "total_conversations": kept.total,
        "more_conversations": kept.more,
        "files": [name for name in files if name is not None],
        "messages": rows,
    }


def _message(message: Details, conversation: int, file: int) -> list[Any]:
    values = {**message._asdict(), "conversation": conversation, "file": file}
    return [values[name] for name in MESSAGE_COLUMNS]


def _rejects(quarantine: Quarantine) -> dict[str, Any]:
    return {
        "reject_counts": [[wire, reason, count] for (wire, reason), count in sorted(quarantine.counts.items())],
        "reject_columns": list(Reject._fields),
        "rejects": [list(reject) for reject in quarantine.kept],
        "reject_bytes": MOST_BYTES,
        "message_columns": list(MESSAGE_COLUMNS),
    }
