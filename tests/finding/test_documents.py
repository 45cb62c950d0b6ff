"""Where Space documents stand: in files, in fences, after prose; never after records; the same however it is cut."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnwire.framing._line_heads_py as pure
from tests.conftest import BACKENDS, needs_both
from tests.cost.measuring import is_bounded
from turnwire.framing import documents
from turnwire.framing.documents import Document, Documents, fences, first_header
from turnwire.kick import parse_space

native = __import__("turnwire._native.framing.line_heads", fromlist=["x"]) if BACKENDS[0] == "native" else pure
LIMIT = 1 << 20


@pytest.fixture(autouse=True)
def twin(core: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_heads", core("framing.line_heads"))


def records(data: bytes) -> list[tuple[int, int]]:
    """What stands for records and rejects here: lines that begin with R, and what stands between [ and ]."""
    found, place = [], 0
    while place < len(data):
        behind = data.find(b"\n", place) + 1 or len(data)
        if data.startswith(b"[", place):
            behind = data.find(b"]", place) + 1 or len(data)
            found.append((place, behind))
            behind = data.find(b"\n", behind) + 1 or len(data)
        elif data.startswith(b"R", place):
            found.append((place, behind))
        place = behind
    return found


def found(text: str, *, inside: bool = False, limit: int = LIMIT) -> list[str]:
    data = text.encode()
    claims = Documents(limit, inside).claims(data, 0, len(data), True, records(data))
    assert all(claim.whole for claim in claims)
    return [data[claim.start : claim.stop].decode() for claim in claims if not claim.too_large]


DOCUMENT = "⫻task/communication:formal/001\n## A\n\n⫻data/obj:\n{}\n"
FENCED = f"prose\n\n```text\n{DOCUMENT}```\nmore\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (DOCUMENT, [DOCUMENT]),
        ("\ufeff" + DOCUMENT, ["\ufeff" + DOCUMENT]),
        ("# Title\n\nprose\n" + DOCUMENT, [DOCUMENT]),
        (FENCED, [DOCUMENT]),
        (FENCED + FENCED.replace("```", "~~~~"), [DOCUMENT, DOCUMENT]),
        (FENCED + DOCUMENT, [DOCUMENT]),  # a record stands in front of the second one
        ("R record\n" + DOCUMENT, []),
        ("R record\n" + FENCED, [DOCUMENT]),  # nothing stands in front of it in its fence
        ("prose\n```\nR record\n" + DOCUMENT + "```\n", []),
        (f"[a record\n{DOCUMENT}]\n", []),
        (f"[a record\n```\n]\n{DOCUMENT}", []),
        (DOCUMENT + "R record\n" + FENCED + DOCUMENT, [DOCUMENT + "R record\n" + FENCED + DOCUMENT]),
        (f"```\n{DOCUMENT}", [DOCUMENT]),  # no end: the fence goes on to that of the file
        (f"````\n{DOCUMENT}```\nx\n````\n", [f"{DOCUMENT}```\nx\n"]),
        (f"```a`b\n{DOCUMENT}", [DOCUMENT]),  # no fence
        (f"    ```\n{DOCUMENT}```\n", [f"{DOCUMENT}```\n"]),  # code by its indentation
        ("⫻\n⫻ \n⫻/x\n⫻:y\n", []),  # no names
        ("⫻ name\n", ["⫻ name\n"]),
        (" ⫻a/b:c/1\nx⫻a\n\v⫻a\n", []),
        ("", []),
    ],
)
def test_documents(text: str, expected: list[str]) -> None:
    assert found(text) == expected
    for one in expected:
        assert parse_space(one, mode="lenient").sections


@pytest.mark.parametrize("fence", ["", "```\n"])
def test_a_header_with_which_a_record_begins_begins_no_document(fence: str) -> None:
    data = f"{fence}{DOCUMENT}".encode()
    spans = [(len(fence), data.index(b"\n", len(fence)) + 1)]
    assert Documents(LIMIT).claims(data, 0, len(data), True, spans) == []


@pytest.mark.parametrize(
    "text", [f"#note a\n{DOCUMENT}", f"{DOCUMENT}#note a\n", f"text\n#note a\n#note b\n{DOCUMENT}"]
)
def test_of_headers_of_two_wires_the_first_one_begins_the_document(text: str) -> None:
    data = text.encode()
    state = Documents(LIMIT, marks=(documents.mark(b"#note", re.compile(rb"#note [a-z]"), 7),))
    start = text.index("\n") + 1 if text.startswith("text") else 0
    [one] = state.claims(data, 0, len(data), True, [])
    assert one == Document(start, len(data), True, wire=None if text.startswith(DOCUMENT) else 7)


def test_headers_inside_fences_are_content_where_that_is_asked_for() -> None:
    assert found(FENCED, inside=True) == []
    assert found(FENCED + DOCUMENT, inside=True) == [DOCUMENT]
    assert found("```\nR record\n```\n" + DOCUMENT, inside=True) == []


def test_too_large() -> None:
    data = (DOCUMENT * 3).encode()
    [one] = Documents(len(data) - 1).claims(data, 0, len(data), True, [])
    assert (one.too_large, one.whole, one.start) == (True, True, 0)
    assert data[: one.stop].endswith(b"\n") and one.stop == len(data) - 3
    state = Documents(10)
    assert state.claims(data, 0, len(data), False, []) == [Document(0, 10, True, True)], "not a single line of it fits"
    assert Documents(len(data)).claims(data, 0, len(data), True, []) == [Document(0, len(data), True)]


@pytest.mark.parametrize("front", ["", "```\n"], ids=["in a file", "in a fence"])
@pytest.mark.parametrize("lines", [1, 2, 40])
def test_what_is_behind_one_that_is_too_large_begins_none_in_the_same_container(front: str, lines: int) -> None:
    """It is a reject; the next container is searched as ever."""
    text = front + "⫻a/b:c/1\n" + "words\n" * 40 + "⫻d/e:f/1\nx\n" * lines + front + "more\n"
    data = f"{text}```\n{DOCUMENT}```\n".encode()
    claims = Documents(100).claims(data, 0, len(data), True, [])
    assert [(one.start, one.too_large) for one in claims] == [(len(front), True), (len(text.encode()) + 4, False)]


@pytest.mark.parametrize(
    ("between", "is_one"),
    [("", False), ("text\n", False), ("```\n```\n", True), ("```\nR\n```\n", True), ("```\n```\nR\n", False)],
)
def test_what_is_in_a_fence_is_of_that_fence_alone_whatever_the_blocks_are(between: str, is_one: bool) -> None:
    """A record in front of a document in its fence; one that was closed says nothing of the next."""
    blocks = ["```\nR record\n", between, DOCUMENT + "```\n"]
    data, state, start = "".join(blocks).encode(), Documents(LIMIT), 0
    for block in blocks[:2]:
        stop = start + len(block.encode())
        state.settle(data, start, stop, [(at, end) for at, end in records(data) if start <= at < stop])
        start = stop
    claims = state.claims(data, start, len(data), True, [])
    assert [(one.start, one.stop) for one in claims] == [(start, start + len(DOCUMENT.encode()))] * is_one


def test_a_document_waits_for_its_end() -> None:
    data = FENCED.encode()
    start, stop = data.index("⫻".encode()), data.index(b"```\nmore")
    for cut in (place + 1 for place in range(start, stop) if data[place : place + 1] == b"\n"):
        assert Documents(LIMIT).claims(data, 0, cut, False, []) == [Document(start, cut, False)]
    assert Documents(LIMIT).claims(data, 0, len(data), False, []) == [Document(start, stop, True)]


def test_fences_and_the_first_header() -> None:
    data = FENCED.encode()
    start, stop = data.index("⫻".encode()), data.index(b"```\nmore")
    assert fences(data, 0, len(data)) == [(start, stop, True)]
    assert fences(data, 0, stop) == [(start, stop, False)]
    assert first_header(data, 0, len(data)) == first_header(data, 7, len(data)) == start
    assert first_header(b"x\n", 0, 2) == -1
    assert first_header(b"\xef\xbb\xbf" + data[start:], 0, stop - start) == 0


LINES = [
    "⫻a/b:c/1\n",
    "⫻\n",
    "prose\n",
    "```\n",
    "```text\n",
    "~~~~\n",
    "   ```\n",
    "R x\n",
    "[ x\n",
    "]\n",
    "`\n",
    "⫻x",
]


def scanned(data: bytes, cuts: list[int], inside: bool, limit: int) -> list[tuple[int, int, bool]]:
    """As a pass goes over blocks: searches each, asks for documents, searches around them, settles."""
    state, position, result = Documents(limit, inside), 0, []
    for stop in [*cuts, len(data)]:
        final = stop == len(data)
        while position < stop:
            size = stop - position
            block = data[position:stop]
            claims = state.claims(block, 0, size, final, records(block))
            end = next((claim.start for claim in claims if not claim.whole), size)
            whole = [claim for claim in claims if claim.whole]
            edges = [0, *(edge for claim in whole for edge in (claim.start, claim.stop)), end]
            around = [
                (start + edges[place], start_end + edges[place])
                for place in range(0, len(edges), 2)
                for start, start_end in records(block[edges[place] : edges[place + 1]])
            ]
            state.settle(block, 0, end, sorted([*around, *((claim.start, claim.stop) for claim in whole)]))
            result += [(position + claim.start, position + claim.stop, claim.too_large) for claim in whole]
            position += end
            if end < size or final:
                break
    return result


@given(
    st.lists(st.sampled_from(LINES), max_size=16),
    st.lists(st.integers(0, 16), max_size=3),
    st.booleans(),
    st.sampled_from([12, 40, LIMIT]),
)
def test_cuts_change_nothing(lines: list[str], cuts: list[int], inside: bool, limit: int) -> None:
    lines = [line for line in lines if "[" not in line and "]" not in line]  # records of several lines wait, too
    data = "".join(lines).encode()
    places = sorted({len("".join(lines[:cut]).encode()) for cut in cuts if "".join(lines[:cut]).endswith("\n")})
    assert scanned(data, [place for place in places if 0 < place < len(data)], inside, limit) == scanned(
        data, [], inside, limit
    )


@needs_both
@given(st.lists(st.sampled_from([*LINES, "\n", "\ufeff", "`` ", "\r\n", " ", "~~"]), max_size=24))
def test_both_cores_see_the_same_lines(lines: list[str]) -> None:
    data = "".join(lines).encode()
    for start in (0, min(4, len(data))):
        for name in ("header_lines", "fence_lines"):
            assert getattr(native, name)(data, start, len(data)) == getattr(pure, name)(data, start, len(data))


@pytest.mark.parametrize(
    "piece", ["```\n⫻a\n", "```\n⫻a\n```\n", "⫻a\n", "```\n", "R\n```\n⫻a\n```\n", "~~~\n```\n⫻a\n"]
)
def test_linear_time(piece: str) -> None:
    def measured(count: int) -> float:
        data = (piece * count).encode()
        spans = records(data)
        begin = time.thread_time()
        state = Documents(LIMIT)
        claims = state.claims(data, 0, len(data), True, spans)
        state.settle(data, 0, len(data), spans or [claim[:2] for claim in claims])
        return time.thread_time() - begin

    assert is_bounded(lambda: measured(500), lambda: measured(2000), 4 * 2, 0.01), "four times, twice that at the most"
