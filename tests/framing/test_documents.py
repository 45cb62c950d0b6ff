"""Where Space documents stand: in files, in fences, after prose; never after records; the same however it is cut."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwire.framing import documents
from turnwire.framing.documents import Document, Documents
from turnwire.kick import parse_space

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
