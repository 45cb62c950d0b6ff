"""Compares what the code finds in generated logs and in all vectors with what was kept: ``make golden``.

Kept is for each log: of each record and reject the wire, kind or reason, offset, length, line, place in a string, time
(of a reject: where in it the fault is), and one digest each of: the common columns, bytes and counts of a scan of all
wires; all columns of a scan of one wire, for the wires that are there and at times one more; and, of every other log,
what another way to read it gives (``WAYS``). To see what changed in log N, print it (``--show N``) here and in a copy
from before the change.

The results are those of the native core. The pure one gives the same but for the column ``inside_unclosed_heredoc``,
which is left out.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from collections import Counter
from difflib import unified_diff
from pprint import pprint

import turnwire
from tests.golden.logs import COUNT, Log, log
from tests.golden.results import PARTS, Results, Row, keep, kept, key, parts, results, run, vectors

PURE_STEP = 50
SHOWN = 5


def differences(found: Results, before: Results) -> list[str]:
    """Names of what is no longer the same."""
    same = (found.rows == before.rows, *map(int.__eq__, found.digests, before.digests))
    return [name for name, equal in zip(("rows", *PARTS), same, strict=True) if not equal]


def described(rows: list[Row]) -> list[str]:
    lines = []
    for code, offset, length, line, inner, extra in rows:
        last = "fault" if code.startswith("reject") else "time"
        lines.append(f"{code:40} offset {offset} length {length} line {line} inner {inner} {last} {extra}")
    return lines


def show(one: Log) -> None:
    """Prints a log and all that is found in it: for ``diff`` with what another checkout prints."""
    print(f"==== {one.number} {one.recipe}, {len(one.data)} bytes")
    offset = 0
    for line in one.data.splitlines(keepends=True):
        print(f"{offset:6} {line!r}")
        offset += len(line)
    for name, found in parts(one.number, one.data):
        print(f"-- {name}")
        if name == "rows":
            print(*described(found), sep="\n")
        else:
            pprint(found, width=160, sort_dicts=False)


def compare(step: int) -> bool:
    """Prints what differs from what was kept; whether anything does."""
    before, named, digest = kept()
    texts = hashlib.sha256()
    differing: list[tuple[Log, Results, Results]] = []
    for number, found, text in run(range(0, COUNT, step)):
        texts.update(text)
        if found != before[number]:
            differing.append((log(number), found, before[number]))
    if step == 1 and texts.hexdigest() != digest:
        print("The generator makes other logs than those whose results were kept.")
    others = [one for one in vectors() if key(one) in named]
    differing += [(one, found, named[key(one)]) for one in others if (found := results(one)) != named[key(one)]]
    for one, found, old in differing[:SHOWN]:
        print(f"==== {one.number} {one.recipe}: {', '.join(differences(found, old))}")
        print(*unified_diff(described(old.rows), described(found.rows), "kept", "found", lineterm="", n=1), sep="\n")
    if differing:
        print("These differ:", *(one.number for one, _, _ in differing))
        groups = Counter(name for _, found, old in differing for name in differences(found, old))
        groups += Counter(one.recipe for one, _, _ in differing)
        print(*(f"{count:6} {name}" for name, count in groups.most_common(30)), sep="\n")
    print(
        f"{len(differing)} of {len(range(0, COUNT, step))} logs and {len(others)} vectors differ ({turnwire.backend})"
    )
    return bool(differing) or (step == 1 and texts.hexdigest() != digest)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("--pure", action="store_true", help=f"the pure core, by every {PURE_STEP}th log")
    parser.add_argument("--every", type=int, metavar="N", help="every Nth log alone")
    parser.add_argument(
        "--show", nargs="+", metavar="LOG", help="print these logs (numbers; names of vectors) and what is found"
    )
    parser.add_argument("--keep", action="store_true", help="keep what is found now")
    asked = parser.parse_args()
    if asked.pure and turnwire.backend != "pure":
        os.execve(
            sys.executable, [sys.executable, "-m", "tests.golden", *sys.argv[1:]], {**os.environ, "TURNWIRE_PURE": "1"}
        )
    if asked.show:
        named = {str(one.number): one for one in vectors()} | {one.recipe: one for one in vectors()}
        for name in asked.show:
            show(named[name] if name in named else log(int(name)))
        return 0
    if asked.keep:
        found = list(run(range(COUNT)))
        texts = hashlib.sha256(b"".join(text for _, _, text in found))
        keep([one for _, one, _ in found], {key(one): results(one) for one in vectors()}, texts.hexdigest())
        return 0
    return int(compare(asked.every or (PURE_STEP if turnwire.backend == "pure" else 1)))


if __name__ == "__main__":
    sys.exit(main())
