"""Cost is a contract: twice the bytes cost 2.4 times as much at most, and no byte costs more than 20 good ones.

The table is entries (``tests/cost/entries.py``) times hostile units and shapes (``tests/cost/units.py``). A few of them
run always; all of them with ``-m soak``. How cost is measured, and why that does not fail on a busy machine, is said in
``tests/cost/measuring.py``.
"""

from __future__ import annotations

import copy
import gc
import json
import signal
import subprocess
import sys
import textwrap
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest

import turnwire
from tests.cost.commands import commands
from tests.cost.doors import doors
from tests.cost.entries import Entry, many, of_sessions, reading, saying
from tests.cost.histories import HISTORIES
from tests.cost.measuring import DOUBLING, LEAST, MOST, SOONER, TIMES, Make, measured
from tests.cost.served import served
from tests.cost.units import GOOD, MESSAGES, SHAPES, UNITS, text
from tests.sap.documents import TASK
from turnwire.json.plan import Judgement

pytestmark = pytest.mark.once

FLOOR = 5e-9
"""CPU seconds a byte below which nothing good is asked to be: a good text of one long line is copied, not read."""
OFTEN = ("{}", "@a", '@a3"a\\"', '{"a":', "x CSP/1\n", "CSP/1\n", "\n", " ", '\\"', '{"header":{}}\n', "⫻a/b:c/d\n")
"""Units that are tried always: what was slow once, and what is near to it."""
NOISE = 1.5
"""What the suite leaves to a busy machine in what a byte costs, a ratio of two figures. ``-m soak`` leaves none."""
DEARER = {
    # Four bytes are a damaged record: it has a row, and words of its own where these are asked for, as conform does.
    "openings in a string": 5,
    # Each message behind a prefix is an object of Python, 5 to 8 µs: lines that are short and few pay it here.
    **dict.fromkeys((f"cut csp behind {name}" for name in ("a prefix", "spaces", "a quote", "CRI")), 5),
    **dict.fromkeys((f"template behind {name}" for name in ("a prefix", "spaces", "a quote", "CRI")), 4),
    **dict.fromkeys(("csp behind spaces", "csp behind a quote", "csp in parts of CRI"), 2),
    repr("⫻a/b:c/1\n```\n".encode()): 2,  # a fence is open to the end, and a block with documents is searched twice
}
"""So many times more than the contract says: see docs/theory.md, Admitted imperfections. Growth is no better for it."""
OF_STATE = {"conform csp": 3}
"""Entries to which what changes the state costs so many times more than the contract says. What a preamble or a patch
changes is put into two trees of which every checkpoint keeps its own (values and their names), that of a patch into a
third, of the store, and looked for some five times, in Python. A good task is settled by its text."""
TELLING = ("scan rejects", "explain", "session.encode", "session.salvage damaged", "session.salvage goes on", "ledger")
TELLING += ("command session pack", "command session check")
SHORT = 16
"""Entries that make a record of each reject or event, a row or lines: it counts as so many bytes if it has fewer. That
of ``@a3|``, four bytes, or of an event that is an empty string, one byte, costs less than that of a common one."""
PRINTED = 96
"""The same of a command that prints a line of so many bytes, or more, for each reject."""
SHAPED = (
    "openings in a string",
    "records in a string",
    "nested objects",
    "open heredoc",
    "names of one hash",
    "many names, then some",
)
TOLD = {
    "csp.lint": ("csp laws", "csp patches", "csp laws, then one long value", "csp laws of one text"),
    "csp.parse lenient": ("csp value over many lines",),
    "csp.read_log": ("csp preambles behind a prefix",),
    "csp.lint beside a store": ("csp patches",),
    "csp.judge_laws": ("csp laws that route",),
    "csp.Store": ("csp patches", "csp one patch, a name twice"),
    "kick.Monitor timed": (
        "kick tasks, then violations",
        "kick violations, then escalations",
        "kick tasks, then reports of others",
        "kick tasks, then resumptions",
        "kick questions, then answers",
        "kick tasks, then stops",
    ),
    "session.encode": (
        "events of many kinds",
        "events that repeat what is far back",
        "one event of many members",
        "one event of many members under a long name",
    ),
    "session.salvage damaged": ("events of two kinds in turn", "events with ever more members"),
    "sap.Lifecycle log": ("sap tasks of one correlation", "sap results of one task"),
    "sstp.Session log": ("sstp clocks back", "sstp actors", "sstp queries"),
}
"""Entries that keep what was said before, and the histories by which some of them grew."""


def _short(name: str) -> int:
    return PRINTED if name == "command validate" else SHORT if name in TELLING else 1


def _units(every: bool) -> Iterator[tuple[str, Make]]:
    units: dict[str, bytes] = {one: one.encode() for one in OFTEN}
    if every:
        units |= {repr(unit): unit for unit in UNITS} | MESSAGES
    for name, unit in units.items():
        yield name, lambda size, unit=unit: text(unit, size)
    for name in SHAPES if every else SHAPED:
        yield name, SHAPES[name]
    for name in HISTORIES if every else ():
        yield name, HISTORIES[name]


def _judge(
    entry: Entry,
    units: Iterator[tuple[str, Make]],
    least: float = LEAST,
    most: int = MOST,
    noise: float = 1.0,
    told: int = 1,
    short: int = 1,
) -> list[str]:
    """What breaks the contract, in words. least, most: CPU seconds and bytes of the smallest input; noise: by how much
    a byte may seem to cost more; told: how many times as much one of a history may; short: a shorter unit counts as so
    many bytes."""
    good = measured(entry.run, lambda size: text(entry.good, size), least=min(least, LEAST)).a_byte
    bound = TIMES * noise * max(good, FLOOR)

    found = []
    for name, make in units:
        allowed = bound * DEARER.get(name, 1) * (told if name in HISTORIES else max(short / len(make(1)), 1))
        cost = measured(entry.run, make, lambda cost, allowed=allowed: cost.a_byte <= allowed, least, most)
        if not cost.grows_straight or cost.a_byte > allowed:
            growth = (cost.seconds[1] / cost.seconds[0]) ** 0.5
            found.append(
                f"{name}: {growth:.2f} for twice of {cost.sizes[0]} bytes (at most {DOUBLING}), "
                f"{cost.a_byte * 1e9:.0f} ns a byte (at most {allowed * 1e9:.0f})"
            )
    return found


def _entries(*which: Callable[[], Iterator[tuple[str, Entry]]]) -> dict[str, Entry]:
    return {name: entry for table in which for name, entry in table()}


TABLE = _entries(reading, saying, many, of_sessions, doors, commands, served)
APART = (
    "feed",
    "scan in blocks",
    "report",
    "scan two threads",
    "log.",
    "tool",
    "tokens.advise",
    "Converter",
    "command",
    "ledger",
    "http",
    "mcp",
)
QUICK = [name for name in TABLE if not name.startswith(APART) and "convert" not in name]
FED = ["feed None 1", "feed None 4", "feed sstp 1", "scan in blocks of 1"]
OF_COMMANDS = ["command validate", "command session pack"]


_PURE = pytest.mark.skipif(turnwire.backend == "pure", reason="not held by the pure core yet: see docs/theory.md")


@_PURE
@pytest.mark.parametrize("name", QUICK)
def test_cost(name: str) -> None:
    assert _judge(TABLE[name], _units(False), SOONER, noise=NOISE, short=_short(name)) == []


@_PURE
@pytest.mark.parametrize("name", FED)
def test_cost_of_pieces(name: str) -> None:
    assert _judge(TABLE[name], _units(False), SOONER, noise=NOISE) == []


@_PURE
@pytest.mark.parametrize("name", OF_COMMANDS)
def test_cost_of_commands(name: str) -> None:
    assert _judge(TABLE[name], _units(False), SOONER, noise=NOISE, short=_short(name)) == []


@_PURE
def test_cost_of_marks_between_tokens() -> None:
    """Of marks that no backslash follows there are many in front of the next place where an object may open."""
    units: list[tuple[str, Make]] = [("@a3|CSP/1", lambda size: text(b"@a3|CSP/1", size))]
    assert _judge(TABLE["scan None"], iter(units), SOONER, noise=NOISE) == []


@pytest.mark.parametrize("name", TOLD)
def test_cost_of_histories(name: str) -> None:
    """What is kept shows when there is much of it: so these are longer."""
    histories = ((told, HISTORIES[told]) for told in TOLD[name])
    assert _judge(TABLE[name], histories, 20 * SOONER, 4 * MOST, NOISE) == []


@_PURE
@pytest.mark.soak
@pytest.mark.parametrize("name", TABLE)
def test_cost_of_everything(name: str) -> None:
    assert _judge(TABLE[name], _units(True), told=OF_STATE.get(name, 1), short=_short(name)) == []


# --- work that is counted ---------------------------------------------------------------------------------------------


def _with_wrong_item(number: int) -> dict[str, Any]:
    """A task with an item that is no string, of five kinds, in one of five arrays of varying length."""
    document = copy.deepcopy(TASK)
    document["taskId"] = str(uuid.UUID(int=number, version=4))
    names = ("principles", "constraints", "objectives", "references", "tags")
    name = names[number % len(names)]
    holder = document if name == "tags" else document["constitutionalContext"]
    wrong = (7, None, [1], {"a": 1}, True)[number // len(names) % 5]
    holder[name] = [*("abc"[: number % 4]), wrong, *("defg"[: number % 5])]
    return document


@pytest.mark.skipif(turnwire.backend == "pure", reason="the pure core has no templates")
@pytest.mark.parametrize("fault", ["no issuer", "bad time", "mixed", "items"])
def test_refusals_are_learnt(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the wires' own reading says of a text stands for those that differ in ids, times and numbers only."""
    asked: list[bytes] = []
    whole = Judgement.whole
    monkeypatch.setattr(Judgement, "whole", lambda self, raw: asked.append(raw) or whole(self, raw))
    lines, bad = [], 0
    for number in range(600):
        document: dict[str, Any] = {**TASK, "taskId": str(uuid.UUID(int=number, version=4))}
        document["issuedAt"] = f"2026-01-01T00:{number % 60:02}:00Z"
        refused = fault != "mixed" or number % 3 == 0
        bad += refused
        if fault == "items":
            document = _with_wrong_item(number)
        elif refused and fault == "bad time":
            document["issuedAt"] = "yesterday"
        elif refused:
            del document["issuer"]
        lines.append(json.dumps(document).encode())
    data = b"\n".join(lines) + b"\n"
    found = turnwire.scan(data, wire="sap")
    assert sum(map(len, found)) == 600 - bad
    assert len(asked) < 60
    places = [0, *(np.cumsum([len(line) + 1 for line in lines])[:-1]).tolist()]
    expected = []
    for number, (place, line) in enumerate(zip(places, lines, strict=True)):
        try:
            turnwire.sap.decode(line)
        except turnwire.DecodeError as error:
            expected.append((str(error.reason), place + (error.offset or 0), number + 1))
    rejects = found.rejects.rows()
    assert [(one["reason"], one["fault"], one["line"]) for one in rejects] == expected


class _Interrupted(Exception):
    pass


def _handler(*_: object) -> None:
    raise _Interrupted


_MANY = 3_000_000
LOOPS: dict[str, Callable[[], Callable[[], Any]]] = {
    "decode_many": lambda: (lambda data: lambda: turnwire.nslip.decode_many(data))(GOOD["nslip"] * _MANY),
    "encode_many": lambda: (
        lambda messages: lambda: turnwire.nslip.encode_many(message for _ in range(_MANY) for message in messages)
    )(turnwire.nslip.decode_many(GOOD["nslip"] * 4)),
    "csp.parse": lambda: (lambda data, limits: lambda: turnwire.csp.parse(data, limits=limits))(
        GOOD["csp"] * (_MANY // 2), turnwire.LIMITS._replace(message=1 << 40)
    ),
    "sstp.decode": lambda: (lambda data, limits: lambda: turnwire.sstp.decode(data, limits=limits))(
        b'{"a":[' + b"1," * 12 * _MANY + b"1]}", turnwire.LIMITS._replace(message=1 << 40)
    ),
    "parse_space": lambda: (lambda data: lambda: turnwire.kick.parse_space(data))("⫻a/b:c\ntext\n".encode() * _MANY),
    "base62": lambda: (lambda data: lambda: turnwire.nslip.base62.encode_array(data))(
        np.full(5 * _MANY, (1 << 64) - 1, np.uint64)
    ),
    "scan of one line": lambda: (lambda data, limits: lambda: list(turnwire.scan(data, limits=limits)))(
        b"{}" * 10 * _MANY, turnwire.LIMITS._replace(message=1 << 29)
    ),
}


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers of CPU time here")
@pytest.mark.skipif(turnwire.backend == "pure", reason="plain Python hears signals by itself")
@pytest.mark.parametrize("name", LOOPS)
def test_signals_are_heard_in_long_loops(name: str) -> None:
    """A signal that comes after so much CPU time ends the loop soon behind that: measured in CPU time, too."""
    run = LOOPS[name]()
    before = signal.signal(signal.SIGPROF, _handler)
    gc.disable()  # what a handler raises in a callback of the collector (hypothesis has one) is lost
    start = process_time()
    try:
        signal.setitimer(signal.ITIMER_PROF, 0.05)
        with pytest.raises(_Interrupted):
            run()
        assert process_time() - start < 0.05 + 0.3
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        gc.enable()


def test_small_files_take_little_memory(tmp_path: Path) -> None:
    """As a table, 1,000 files of 46 bytes took 26 MB more than one of them did."""
    pytest.importorskip("polars")
    for number in range(1000):
        (tmp_path / f"{number:04}.log").write_bytes(b'@a3|f0|c1|S0|d1|T1|gH|t"hello hello hello h"#\n')
    code = """
        import resource, sys, polars, turnwire
        polars.DataFrame(turnwire.scan(sys.argv[1] + "/0000.log"))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        table = polars.DataFrame(turnwire.scan(sys.argv[1]))
        assert table.height == 1000 and table["file"].n_unique() == 1000, table
        assert table["subject"].unique().to_list() == ["hello hello hello h"], table
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    made = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert int(made.stdout) < 8 * 1024, "KiB"
