"""What lines, and the gaps between records, show at a glance: both cores see the same."""

from __future__ import annotations

import random
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.nslip.twins import rounds
from turnwire.framing import _line_heads_py as pure

PIECES = (
    *(
        b"CSP/1",
        b"csp / 1",
        b"\n",
        b"\r\n",
        b" ",
        b"x",
        b"{",
        b'"',
        b"}",
        b"\\",
        b"/",
        b"\xe2\xab\xbb",
        b"\xef\xbb\xbf",
    ),
    *(
        b"```",
        b"~~~",
        b" P ",
        b" P:x ",
        b"2026-11-22T07:00:00",
        b".5Z",
        b" stdout P ",
        b'"log"',
        b"CSP\\",
        b"MESSAGE",
        b'\\": [',
        b"\\u002f",
        b"\\u003c",
        b"a" * 20,
        b"b" * 16400,
    ),
)


def spans(chance: random.Random, size: int) -> tuple[Any, Any]:
    """Offsets and lengths of a few records, in order."""
    cuts = sorted(chance.randrange(size + 1) for _ in range(2 * chance.randrange(4)))
    offsets = np.array(cuts[::2], np.int64)
    return offsets, np.array(cuts[1::2], np.int64) - offsets


def test_the_twins_see_the_same(core: Callable[[str], ModuleType]) -> None:
    heads = core("framing.line_heads")
    chance = random.Random(4)
    met, plain, alone = 0, set(), set()
    for _ in range(rounds(600)):
        data = b"".join(chance.choice(PIECES) for _ in range(chance.randrange(12)))
        found = heads.signs(data, 0, len(data))
        assert found == pure.signs(data, 0, len(data)), data
        met |= found[1]
        offsets, lengths = spans(chance, len(data))
        claims = (data, offsets, offsets + lengths, 0, len(data))
        assert heads.signs_between(*claims) == pure.signs_between(*claims), claims
        stop = chance.randrange(len(data) + 1)
        records = (data, offsets + 7, lengths, len(offsets), 7, stop)
        assert heads.only_records(*records) == pure.only_records(*records), records
        alone.add(pure.only_records(*records))
        for lines in (True, False):
            for escapes in (True, False):
                asked = (data, offsets, lengths, len(offsets), 0, 0, len(data), lines, escapes)
                assert heads.plain_gaps(*asked) == pure.plain_gaps(*asked), asked
                plain.add(pure.plain_gaps(*asked))
    assert met == 31 and plain == alone == {True, False}


def test_signs_are_those_in_front_of_the_first_message_and_between_claims(core: Callable[[str], ModuleType]) -> None:
    heads = core("framing.line_heads")
    text = b"a line\n" * 40
    data = b"```\n" + text + b"CSP/1\nFROM A\n" + text + b"\xe2\xab\xbbx\n" + text + b"x CSP/1\n"
    magic, sigil = data.index(b"CSP/1"), data.index(b"\xe2")
    assert heads.signs(data, 0, len(data)) == (magic, pure.FENCE)
    nothing = np.zeros(0, np.int64)
    assert heads.signs_between(data, nothing, nothing, magic, len(data)) == pure.SIGIL | pure.MAGIC_BEHIND
    starts, stops = np.array([magic, len(data) - 8], np.int64), np.array([sigil, len(data)], np.int64)
    assert heads.signs_between(data, starts, stops, magic, len(data)) == pure.SIGIL
    assert heads.signs_between(data, starts, np.array([sigil + 1, len(data)], np.int64), magic, len(data)) == 0
    starts, stops = np.insert(starts, 1, magic + 3), np.array([sigil + 1, magic + 6, len(data)], np.int64)
    assert heads.signs_between(data, starts, stops, magic, len(data)) == 0  # one of them is in another
    with pytest.raises(ValueError, match="lie in the data"):
        heads.signs_between(data, nothing, nothing, 0, len(data) + 1)


def test_only_what_lies_outside_of_records_counts(core: Callable[[str], ModuleType]) -> None:
    heads = core("framing.line_heads")
    data = b'a {"b": 1} /'
    offsets, lengths = np.array([2], np.int64), np.array([8], np.int64)
    assert heads.plain_gaps(data, offsets, lengths, 1, 0, 0, len(data), False, False)
    assert not heads.plain_gaps(data, offsets, lengths, 0, 0, 0, len(data), False, False)
    with pytest.raises(ValueError, match="lie in the data"):
        heads.plain_gaps(data, offsets, lengths, 2, 0, 0, len(data), False, False)


@pytest.mark.parametrize("behind", ["", " ", "\t", "\n", "\r", "\v", "x"])
@pytest.mark.parametrize("front", ["", " ", "\t", "\n", "\r", "\v", "x"])
def test_the_key_of_a_message_as_bytes(core: Callable[[str], ModuleType], front: str, behind: str) -> None:
    """MESSAGE is one with any white space of JSON around its colon, in a string of JSON, too."""
    heads, nothing = core("framing.line_heads"), np.zeros(0, np.int64)
    for slashes in ("", "\\", "\\\\\\"):
        for bracket in "[{":
            data = f'MESSAGE{slashes}"{front}:{behind}{bracket}65'.encode()
            asked = (data, nothing, nothing, 0, 0, 0, len(data), True, False)
            is_one = bracket == "[" and not {front, behind} & {"\v", "x"}
            assert heads.plain_gaps(*asked) is pure.plain_gaps(*asked) is (not is_one), data


def test_a_gap_of_lines_as_long_as_a_part_of_docker_is_looked_at_closely(core: Callable[[str], ModuleType]) -> None:
    heads, nothing = core("framing.line_heads"), np.zeros(0, np.int64)
    for size, plain in ((16383, True), (16384, False), (16385, False)):
        assert heads.plain_gaps(b"x" * size, nothing, nothing, 0, 0, 0, size, True, False) is plain
        assert heads.plain_gaps(b"x" * size, nothing, nothing, 0, 0, 0, size, False, False) is True


@pytest.mark.parametrize("begun", ["", "x\n", 'x "y"\n', 'x"'])
@pytest.mark.parametrize(
    ("front", "is_json"),
    [
        *(
            (front, True)
            for front in ("", " ", "\t", "[", "[[", "[ [", "[7, ", "[-1.5E+3, ", "[true,false, null,", "[[1],\t")
        ),
        *((front, False) for front in ("x", "7, ", ",", "]", "[x", "[main] ", "[7\r", "-[", "[:")),
    ],
)
def test_a_quote_that_begins_a_line_of_json(
    core: Callable[[str], ModuleType], begun: str, front: str, is_json: bool
) -> None:
    """Blanks and brackets may be in front of it, and numbers and other words of JSON behind a bracket."""
    heads, nothing = core("framing.line_heads"), np.zeros(0, np.int64)
    data = f'{begun}{front}"@a1'.encode()
    asked = (data, nothing, nothing, 0, 0, 0, len(data), False, False)
    assert heads.plain_gaps(*asked) is pure.plain_gaps(*asked) is (not is_json or begun == 'x"'), data
    behind = (data, nothing, nothing, 0, 0, len(begun), len(data), False, False)  # what is in front is not looked at
    assert heads.plain_gaps(*behind) is pure.plain_gaps(*behind) is (not is_json), data


@pytest.mark.parametrize("more", [-1, 0, 1])
@pytest.mark.parametrize("front", [b"", b"x\n"])
def test_lines_and_gaps_as_long_as_a_part_of_docker(core: Callable[[str], ModuleType], more: int, front: bytes) -> None:
    heads, size, nothing = core("framing.line_heads"), 16384 + more, np.zeros(0, np.int64)
    line = front + b"a" * (size - 5) + b'"log"'
    assert heads.signs(line + b"\n", len(front), len(line) + 1) == (-1, pure.DOCKER if more >= 0 else 0)
    gap = front + b"a" * size
    for lines in (True, False):
        found = heads.plain_gaps(gap, nothing, nothing, 0, 0, len(front), len(gap), lines, False)
        assert found == (not lines or more < 0)


def test_records_are_alone_where_nothing_else_could_be_one(core: Callable[[str], ModuleType]) -> None:
    heads = core("framing.line_heads")
    data = b"\nCSP/1 {\n\nwords\nCSP/1 @\n\nCSP/1 {"
    offsets, lengths = np.array([101, 117], np.int64), np.array([7, 7], np.int64)
    last = data.rindex(b"CSP")
    assert heads.only_records(data, offsets, lengths, 2, 100, last)
    assert not heads.only_records(data, offsets, lengths, 2, 100, len(data))
    assert not heads.only_records(data, offsets, lengths, 1, 100, last)
    assert heads.only_records(data, np.insert(offsets, 1, 101), np.insert(lengths, 1, 3), 3, 100, last)  # in another
    for words in (b'wor"s', b"wor@s", b"wor{s", b"wor\\s", b"```xx", b"w;CSP/1;", b"\xe2\xab\xbbxx"):
        other = data.replace(b"words", words)
        moved = np.array([101, 117 + len(words) - len(b"words")], np.int64)
        assert not heads.only_records(other, moved, lengths, 2, 100, last), other
    assert heads.only_records(b"", offsets[:0], lengths[:0], 0, 0, 0)
    for rows, stop in ((3, 0), (2, len(data) + 1), (2, -1)):
        with pytest.raises(ValueError, match="lie in the data"):
            heads.only_records(data, offsets, lengths, rows, 100, stop)


def _fence_line_by_line(data: bytes, start: int, fence: bytes, found: list[tuple[int, int]]) -> tuple[bytes, int]:
    """What ``fence_behind`` says, by CommonMark's words: a line at a time, all spans looked at for each."""
    place, since = start, 0
    for text in data[start:].split(b"\n"):
        begin, place = place, min(place + len(text) + 1, len(data))
        indent = len(text) - len(text.lstrip(b" "))
        text = text[indent:]
        sign = text[:1]
        run = text[: len(text) - len(text.lstrip(sign))] if sign in (b"`", b"~") and sign else b""
        if indent > 3 or len(run) < 3 or any(first <= begin < behind for first, behind in found):
            continue
        rest = text[len(run) :]
        if fence and sign == fence[:1] and len(run) >= len(fence) and not rest.strip(b" \t\r"):
            fence, since = b"", place
        elif not fence and (sign == b"~" or b"`" not in rest):
            fence, since = run, place
    return fence, since


def test_which_fence_is_open(core: Callable[[str], ModuleType]) -> None:
    heads = core("framing.line_heads")
    chance = random.Random(9)
    pieces = (b"```", b"~~~", b"````", b"`", b"~", b"\n", b"\n", b"\n", b" ", b"   ", b"json", b"\r\n", b"\t")
    opened = 0
    for _ in range(rounds(1500)):
        data = b"".join(chance.choice(pieces) for _ in range(chance.randrange(30)))
        starts = [0, *(place + 1 for place, byte in enumerate(data) if byte == 10)]
        start = chance.choice(starts)
        cuts = sorted(chance.randrange(len(data) + 1) for _ in range(2 * chance.randrange(3)))
        found = [(first, behind) for first, behind in zip(cuts[::2], cuts[1::2], strict=True) if first < behind]
        fence = chance.choice((b"", b"", b"```", b"~~~~"))
        expected = _fence_line_by_line(data, start, fence, found)
        assert heads.fence_behind(data, start, len(data), fence, found) == expected, (data, start, fence, found)
        opened += expected[0] != fence
    assert opened > 100


@pytest.mark.parametrize(
    ("line", "following", "again"),
    [
        (b"at 7 CSP/1\n", b"at 123 CSP/1\n", True),
        (b"at 7 CSP/1\r\n", b"at 8 CSP/1\n", True),
        (b"at 7 CSP/1\r\n", b"at 8 CSP/1\r\n", True),
        (b"at 7 in 5 of 1 CSP/1\n", b"at 70 in 51 of 12 CSP/1\n", True),
        (b"at 7 in 5 of 1 CSP/1\n", b"at 70 in 51 of x CSP/1\n", False),
        (b"at 7 CSP/1\n", b"in 7 CSP/1\n", True),  # that line is none of a message
        (b"xCSP/1\n", b"1CSP/1\n", True),
        (b"2 CSP/1\n", b"1 x CSP/1\n", False),
        (b"2026-05-04T10 CSP/1\n", b"x CSP/1\n", False),
        (b"at 7 CSP/1\r\n", b"x" * 507 + b"CSP/1\n", True),
        (b"at 7 CSP/1\n", b"x" * 508 + b"CSP/1\n", False),
        (b"at 7 CSP/1\n", b" CSP/1\n", False),
        (b"at 7 CSP/1\n", b"\tCSP/1\n", False),
        (b"at 7 CSP/1\n", b"FROM CSP/1\n", False),
        (b"at 7 CSP/1\n", b"FROMCSP/1\n", True),
        *((b"at 7 CSP/1\n", b"%s CSP/1\n" % one, False) for one in (b"TO", b"CTX", b"INTENT", b"STATUS", b"SCOPE")),
        *(
            (b"at 7 CSP/1\n", b"%s CSP/1\n" % one, False)
            for one in (b"READ_RECS", b"POSITION", b"RESOLUTION", b"DEBATE")
        ),
        *((b"at 7 CSP/1\n", b"%s CSP/1\n" % one, True) for one in (b"TASK", b"CTY", b"Status", b"DEF", b"REQ", b"<<<")),
        (b"at 7 CSP/1\n", b"x Compact Symbol Protocol CSP/1\n", False),
        (b"at 7 CSP/1\n", b"Compact Symbol Protoco CSP/1\n", True),
        (b"at 7 CSP/1\n", b"at 7 FROM A\n", False),
        (b"at 7 CSP/1\n", b"at 7 CSP/1 \n", False),
        (b"at 7 CSP/1;\n", b"at 7 CSP/1;\n", False),  # a template is one by itself
        (b"2026-05-04T10 CSP/1\n", b"2026-05-04T11 CSP/1\n", False),  # as CRI writes
        (b"2026-05-04 T1 CSP/1\n", b"2026-05-04 T2 CSP/1\n", True),
        (b"202605-04T10 CSP/1\n", b"202605-04T11 CSP/1\n", True),
        (b"2026-05-04T CSP/1\n", b"2026-05-05T CSP/1\n", False),
        (b"+ DEF A = CSP/1\n", b"+ DEF A = CSP/1\n", False),
        (b"- DEF A = CSP/1\n", b"- DEF A = CSP/1\n", False),
        (b"~ DEF A = CSP/1\n", b"~ DEF A = CSP/1\n", False),
    ],
)
def test_a_line_behind_which_none_of_a_message_comes_begins_none(
    core: Callable[[str], ModuleType], line: bytes, following: bytes, again: bool
) -> None:
    """Of two lines that are alike but for their digits, or of which the second can be none of a message, the first is
    no hint; the second is, as nothing follows it."""
    first_hint = core("framing.line_heads").first_hint
    data = b"x\n" + line + following
    assert first_hint(data, 2, len(data)) == (2 + len(line) if again else 2)
    assert first_hint(data, 2, 2 + len(line)) == 2
    assert first_hint(data, 2, 2 + len(line) - 2) == -1
    assert first_hint(b"CSP/1\n" * 3, 0, 18) == -1, "it is behind nothing"
    for behind in (b"", b"\r", b"\rx\n", b"\r\r\n", b" \n"):
        assert first_hint(b"at 7 CSP/1" + behind, 0, 10 + len(behind)) == -1, "it does not end its line"
    for end in range(2, len(data)):
        assert first_hint(data, 2, end) == first_hint(data[:end], 2, end), "what is behind the end is not looked at"
    for start, stop in ((-1, 2), (3, 2), (0, len(data) + 1)):
        with pytest.raises(ValueError, match=r"^start and stop must lie in the data$"):
            first_hint(data, start, stop)


def test_the_first_long_line(core: Callable[[str], ModuleType]) -> None:
    first_long = core("framing.line_heads").first_long
    for sizes in ((3,), (1, 3), (1, 2, 3, 1), (0, 0, 5, 4), (2, 2, 2, 2, 9)):
        data = b"\n".join(b"x" * size for size in sizes)
        starts = [sum(sizes[:number]) + number for number in range(len(sizes))]
        for least in range(1, 10):
            for first, start in enumerate(starts):
                long = [at for at, size in zip(starts[first:], sizes[first:], strict=True) if size >= least]
                assert first_long(data, start, len(data), least) == (long[0] if long else -1), (data, start, least)
