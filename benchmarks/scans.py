"""Logs to batches of columns: each wire by name and among all, damaged, in each carrier, beside memchr, on both cores.

    python benchmarks/scans.py [--size BYTES] [--rounds N]

memchr is ``bytes.find`` of a byte that is not there: it looks at each byte once and does nothing else. Times are
processor time of one thread; each ratio is the median of the ratios of the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from tempfile import NamedTemporaryFile
from time import sleep
from typing import Any

from logs import LOGS
from measure import Run, by_turns, once, ratio
from messages import WIRES

import turnwire

COMMON = ["kind", "sender", "receiver", "conversation", "sequence", "time", "subject"]
REFUSED: dict[str, tuple[bytes, bytes]] = {
    "nslip": (b"|f", b"|zz"),
    "csp": (b"\nFROM ", b"\nBY "),
    "sstp": (b'"actor_id"', b'"actor"'),
    "sap": (b'"taskId"', b'"task"'),
    "kick": (b'"sender"', b'"from"'),
}
"""A field that each message must have, and what is written in its place, so that every one of them is refused."""
TIME = b"2026-11-22T07:00:01.123456789Z"


def messages_of(wire: str, size: int) -> list[bytes]:
    """The messages of a log of at least ``size`` bytes, each with its line ends."""
    log = LOGS[wire](size)
    if wire == "csp":
        return [b"CSP/1\n" + part for part in log.split(b"CSP/1\n")[1:]]
    return [line + b"\n" for line in log.splitlines()]


def found(data: Any, **options: Any) -> int:
    """Scans; the number of records and rejects."""
    scan = turnwire.scan(data, **options)
    return sum(len(batch) for batch in scan) + len(scan.rejects)


# --- one wire, all wires, damage


def of_wire(wire: str, size: int, rounds: int) -> list[str]:
    """A line of the first table."""
    messages = messages_of(wire, size)
    log = b"".join(messages)
    refused = b"".join(one.replace(*REFUSED[wire], 1) for one in messages)
    cut = b"".join(one[: 2 * len(one) // 3].rstrip(b"\n") + b"\n" for one in messages)
    if good := sum(map(len, turnwire.scan(refused, wire=wire))):
        raise AssertionError(f"{good} messages of {wire} are not refused")
    runs: dict[str, Run] = {
        "memchr": once(lambda: [log.find(b"\0") for _ in range(5)]),
        "own": once(partial(found, log, wire=wire), len(messages)),
        "common": once(partial(found, log, wire=wire, columns=COMMON), len(messages)),
        "all": once(partial(found, log, columns=COMMON), len(messages)),
        "refused": once(partial(found, refused, wire=wire)),
        "cut": once(partial(found, cut, wire=wire)),
    }
    samples = by_turns(runs, rounds)
    speed = len(log) / median(samples["own"]) / 1e6
    return [
        f"{speed:,.0f} MB/s, {median(samples['own']) / len(messages) * 1e9:.0f} ns",
        f"{20 * ratio(samples, 'memchr', 'own').median:.1f} %",
        f"{ratio(samples, 'common', 'all').median:.2f}",
        f"{ratio(samples, 'common', 'own').median:.2f}",
        f"{ratio(samples, 'refused', 'own').median * len(log) / len(refused):.1f}",
        f"{ratio(samples, 'cut', 'own').median * len(log) / len(cut):.1f}",
    ]


# --- carriers


def _lines(prefix: bytes, message: bytes) -> bytes:
    return b"".join(prefix + line for line in message.splitlines(keepends=True))


def _objects(make: Callable[[str], Any], message: bytes) -> bytes:
    """One JSON object for each line of a message."""
    parts = [json.dumps(make(line), ensure_ascii=False) + "\n" for line in message.decode().splitlines(keepends=True)]
    return "".join(parts).encode()


def _nested(text: str, depth: int) -> str:
    """The text in a string of an object, which is in a string of another, so many deep."""
    for _ in range(depth):
        text = json.dumps({"m": text})
    return text


CARRIERS: dict[str, Callable[[bytes], bytes]] = {
    "a log's prefix": partial(_lines, TIME + b" INFO app: "),
    "compose": partial(_lines, b"agent-1  | "),
    "indentation": partial(_lines, b"    "),
    "quoted, `> `": partial(_lines, b"> "),
    "events, `data: `": partial(_lines, b"data: "),
    "CRI": partial(_lines, TIME + b" stdout F "),
    "Docker": partial(_objects, lambda line: {"log": line, "stream": "stdout", "time": TIME.decode()}),
    "journald": partial(_objects, lambda line: {"MESSAGE": line.rstrip("\n"), "_SYSTEMD_UNIT": "a.service"}),
    "journald, bytes": partial(_objects, lambda line: {"MESSAGE": list(line.rstrip("\n").encode())}),
    "a JSON string": lambda message: json.dumps({"msg": message.decode()}).encode() + b"\n",
    "three strings deep": lambda message: _nested(message.decode(), 3).encode() + b"\n",
    "a list of lines": lambda message: (
        json.dumps({"source": message.decode().splitlines(keepends=True)}).encode() + b"\n"
    ),
}
"""The container of each message."""


def interleaved(messages: list[bytes]) -> bytes:
    """The lines of two services by turns."""
    parts = [[_lines(name, one).splitlines(keepends=True) for one in messages[at::2]] for at, name in enumerate(NAMES)]
    lines = [[line for one in part for line in one] for part in parts]
    return b"".join(line for pair in zip(*lines, strict=False) for line in pair)


NAMES = (b"planner-1  | ", b"coder-1    | ")


def of_carriers(wire: str, size: int, rounds: int) -> dict[str, float]:
    """How many times what a byte of the bare log takes a byte takes in each carrier."""
    messages = messages_of(wire, size)
    logs = {name: b"".join(map(put, messages)) for name, put in CARRIERS.items()}
    logs["two services interleaved"] = interleaved(messages)
    bare = b"".join(messages)
    runs = {name: once(partial(found, log)) for name, log in logs.items()}
    samples = by_turns({"bare": once(partial(found, bare)), **runs}, rounds)
    return {name: ratio(samples, name, "bare").median * len(bare) / len(logs[name]) for name in logs}


# --- what needs a process of its own


def pure(wire: str) -> float:
    """MB/s of the core that is in use: own columns."""
    log = LOGS[wire](1 << 19)
    return len(log) / min(once(partial(found, log, wire=wire))() for _ in range(3)) / 1e6


def entered(wire: str) -> int:
    """Python files of the package that a scan of 100 records enters, once it has been done before."""
    log = b"".join(islice(messages_of(wire, 1 << 17), 100))
    seen: set[str] = set()
    package = str(Path(str(turnwire.__file__)).parent)

    def note(frame: Any, event: str, value: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(package):
            seen.add(frame.f_code.co_filename)

    found(log)
    sys.setprofile(note)
    found(log)
    sys.setprofile(None)
    return len(seen)


def peak(wire: str) -> float:
    """MB of anonymous memory that streaming 64 MiB from a file adds at most."""
    status = Path("/proc/self/status")

    def anonymous() -> int:
        return int(status.read_text().partition("RssAnon:")[2].split()[0])

    with NamedTemporaryFile() as file:
        part = b"".join(messages_of(wire, 4 << 20))
        for _ in range(16):
            file.write(part)
        file.flush()
        del part
        found(LOGS[wire](1 << 16), wire=wire)
        before, seen, done = anonymous(), [0], threading.Event()

        def watch() -> None:
            while not done.is_set():
                seen.append(anonymous())
                sleep(0.002)

        watcher = threading.Thread(target=watch)
        watcher.start()
        found(file.name, wire=wire)
        done.set()
        watcher.join()
        return (max(seen) - before) / 1e3


TOLD: dict[str, Callable[[str], float]] = {"pure": pure, "entered": entered, "peak": peak}


def told(what: str, wire: str, **environment: str) -> float:
    """A figure of another process of this script."""
    command = [sys.executable, __file__, "--told", what, wire]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env={**os.environ, **environment})
    return float(done.stdout)


# --- tables


def tables(size: int, rounds: int) -> str:
    """All tables in Markdown."""
    heads = ["own columns", "of memchr", "all wires ÷ one", "own ÷ common", "refused ÷ good", "cut ÷ good"]
    heads += ["pure, MB/s", "files entered", "peak, MB"]
    lines = ["| wire | " + " | ".join(heads) + " |", "|---|" + "--:|" * len(heads)]
    for wire in WIRES:
        cells = of_wire(wire, size, rounds)
        cells.append(f"{told('pure', wire, TURNWIRE_PURE='1'):.1f}")
        cells += [f"{told('entered', wire):.0f}", f"{told('peak', wire):.0f}"]
        lines.append(f"| {wire} | " + " | ".join(cells) + " |")
    by_wire = {wire: of_carriers(wire, size >> 3, rounds) for wire in WIRES}
    lines += ["", "| carrier ÷ bare, a byte | " + " | ".join(WIRES) + " |", "|---|" + "--:|" * len(WIRES)]
    for name in by_wire["nslip"]:
        lines.append(f"| {name} | " + " | ".join(f"{by_wire[wire][name]:.1f}" for wire in WIRES) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--size", type=int, default=16 << 20, help="bytes of each log; an eighth of it in carriers")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--told", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.told:
        print(TOLD[options.told[0]](options.told[1]))
    else:
        print(tables(options.size, options.rounds))


if __name__ == "__main__":
    main()
