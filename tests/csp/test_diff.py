"""Diffs that another program writes are applied as it meant them."""

from __future__ import annotations

import difflib
import random

import pytest

from turnwire.csp import diff

pytestmark = pytest.mark.once

LINES = (b"a\n", b"b\n", b"\n", b"c\r\n", b"\r\n", b"+d\n", b"@@\n")


def unified_diff(before: list[bytes], after: list[bytes], context: int) -> bytes:
    """The diff that Python's difflib writes, with what it leaves out of lines that have no end."""
    found = difflib.diff_bytes(difflib.unified_diff, before, after, b"a/f.txt", b"b/f.txt", n=context, lineterm=b"\n")
    return b"".join(line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n" for line in found)


def content(chance: random.Random) -> list[bytes]:
    lines = [chance.choice(LINES) for _ in range(chance.randrange(9))]
    return [*lines, b"e"] if chance.random() < 0.3 else lines


@pytest.mark.parametrize("context", [0, 1, 3])
def test_diffs_that_python_writes_are_applied(context: int) -> None:
    chance = random.Random(context)
    for _ in range(500):
        before, after = content(chance), content(chance)
        if before == after:
            continue
        made = unified_diff(before, after, context)
        assert diff.apply_diff(b"".join(before), made, "f.txt") == b"".join(after), made
        hunks = diff.parse_diff(made, "f.txt")
        assert all(hunk.new == sum(sign != b"-" for sign, _ in hunk.lines) for hunk in hunks)
        if b"@@\n" not in (*before, *after):
            assert [hunk.lines for hunk in diff.parse_diff(made, "f.txt", recount=True)] == [one.lines for one in hunks]
