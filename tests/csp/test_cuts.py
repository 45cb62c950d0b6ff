"""Cuts: what stands between two of them is read as if the rest were not there."""

from __future__ import annotations

import random
from importlib import import_module

import numpy as np
import pytest

import turnwire.csp.cuts
from tests.csp.generate import ODD_LINES, document
from tests.levels import each_level
from turnwire._backend import core_module
from turnwire.csp import spec
from turnwire.csp.cuts import safe_cuts

HEREDOCS = ["<<<", "<<<<", ">>>", ">>>>", "<<<-", "CSP/1", "```", "CONTENT", "REQ", "CSP/1;x"]
HEREDOCS += ["\tCSP/1", " csp / 1", "\ufeffCSP/1", "\t```", "  ~~~", "c", "cs", "CSP", "C SP/1", "\t", "~", "`"]


@pytest.fixture(autouse=True)
def cuts_core(backend, monkeypatch):
    """The core under test, in the place where ``safe_cuts`` looks for it."""
    monkeypatch.setattr(turnwire.csp.cuts, "_core", core_module(backend, "csp.cuts"))


def pieces(data: bytes, rng: random.Random) -> list[bytes]:
    places = sorted(rng.sample(range(len(data) + 1), min(len(data), rng.randrange(8))))
    return [data[start:stop] for start, stop in zip([0, *places], [*places, len(data)], strict=True)]


def messages(core, data: bytes, limits, base: int = 0, line: int = 0) -> list[tuple[int, ...]]:
    """What a scan finds: messages and templates, and what is damaged; the text between them is nothing."""
    rows, _, rejects = core.tables(data, limits)
    found = [(base + row[0], row[1], line + row[2], row[3]) for row in rows if row[3] & 0xFF <= spec.TEMPLATE]
    text = (spec.Reason.JUNK, spec.Reason.TRAILING_TEXT)
    damaged = [one for one in rejects if spec.REASONS[one[3]] not in text]
    return sorted([*found, *((base + one[0], one[1], line + one[2], -one[3]) for one in damaged)])


def log(seed: int) -> bytes:
    """Documents with what confuses a pass that reads no messages: text and heredocs that nobody owns."""
    rng = random.Random(seed)
    parts = []
    for number in range(rng.randrange(1, 5)):
        if rng.random() < 0.5:
            odd = rng.choices(HEREDOCS if rng.random() < 0.7 else ODD_LINES, k=rng.randrange(8))
            parts.append("".join(f"{line}\n" for line in odd).encode())
        part = document(10_000 * seed + number, damage=rng.choice([0.0, 0.05, 0.3]))
        parts.append(part if part.endswith(b"\n") or rng.random() < 0.2 else part + b"\n")
    return b"".join(parts)


@pytest.mark.parametrize("start", range(0, 800, 200))
def test_parts_give_what_the_whole_gives(csp_core, start):
    cut_logs = 0
    for seed in range(start, start + 200):
        data = log(seed)
        rng = random.Random(seed)
        limit = rng.choice([1 << 24, 1 << 24, 400, 150, 60])
        limits = (limit, 256, 1 << 16)
        every = rng.choice([1, 50, 300])
        cuts = list(safe_cuts(pieces(data, rng), every, limit=limit))
        if not cuts:
            continue
        cut_logs += 1
        found = []
        ends = [*(offset for offset, _ in cuts[0:]), len(data)]
        before = 0
        for (offset, line), stop in zip([(0, 1), *cuts], ends, strict=True):
            assert offset == 0 or offset - before >= every
            assert offset == 0 or data[offset - 1] == 10
            assert line == 1 + data.count(b"\n", 0, offset)
            found += messages(csp_core, data[offset:stop], limits, offset, line - 1)
            before = offset
        assert found == messages(csp_core, data, limits), seed
    assert cut_logs > 50


def test_the_twins_make_the_same_cuts(backend):
    if backend == "pure":
        return
    other = import_module("turnwire.csp._cuts_py")
    for seed in range(900):
        data = log(seed)
        rng = random.Random(seed)
        every, limit = rng.choice([1, 1, 40, 200]), rng.choice([1 << 24, 300, 80, 20])
        parts = pieces(data, rng)
        found = [list(safe_cuts(parts, every, limit=limit)) for _ in each_level(turnwire.csp.cuts._core)]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(turnwire.csp.cuts, "_core", other)
            assert [list(safe_cuts(parts, every, limit=limit))] * len(found) == found, seed


@pytest.mark.parametrize("first", ["CSP/1", "\tCSP/1", " csp / 1", "\ufeffCSP/1", "c", "C\tSP/1", "x", "\tx"])
def test_what_may_begin_a_message_does_so_wherever_it_stands_in_a_block(first):
    """A message that may be open, and grows beyond the limit inside a heredoc: no cut is safe behind it."""
    core = turnwire.csp.cuts._core
    for _ in each_level(core):
        for before in range(70):
            head = b"-" * before + b"\n"
            heredoc = b"CTX C\nCONTENT\n<<<\n" + b"x\n" * 60 + b">>>\n"
            data = head + first.encode() + b"\n" + b"y" * 80 + b"\n" + heredoc + RECORD + RECORD
            opens = first in ("CSP/1", "\tCSP/1", " csp / 1", "\ufeffCSP/1")
            behind = data.index(RECORD)
            assert any(offset >= behind for offset, _ in safe_cuts([data], 150, limit=180)) is not opens, before


RECORD = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT FILE\n\nFILEOP F1 PATCH\nPATH x\nCONTENT\n<<<\nCSP/1\nFROM EVIL\n>>>\n\n"


def test_every_message_start_and_no_other():
    data = RECORD * 5
    assert list(safe_cuts([data], 1)) == [(len(RECORD) * place, 1 + 14 * place) for place in range(1, 5)]
    assert list(safe_cuts([data], 2 * len(RECORD))) == [(len(RECORD) * place, 1 + 14 * place) for place in (2, 4)]
    assert list(safe_cuts([bytes([byte]) for byte in data], 1)) == list(safe_cuts([data], 1))
    assert list(safe_cuts([], 1)) == list(safe_cuts([b"", b""], 1)) == []


@pytest.mark.parametrize("more", [-1, 0, 1, 40])
def test_a_heredoc_of_just_the_limit_is_closed_and_so_is_a_message(more):
    """A heredoc counts from its opening on, a message from its first line; what closes them counts, too."""
    head = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT QUERY\n\nQUERY Q1\n"
    fields, heredoc, behind = b"NOTE x\n" * 60, b"<<<\n" + b"x" * 50 + b"\n>>>\n", b"CSP/1\nFROM X\n" * 3
    for before in (b"", b"text\n" * 9):
        apart = before + head + fields + heredoc  # the heredoc opens where the message is too long already
        found = list(safe_cuts([apart + behind], len(before) + 60, limit=len(heredoc) + more))
        assert any(offset >= len(apart) for offset, _ in found) is (more >= 0)
        whole = before + head + b"NOTE\n" + heredoc
        found = list(safe_cuts([whole + behind], len(before) + 60, limit=len(whole) - len(before) + more))
        assert any(offset >= len(whole) for offset, _ in found) is (more >= 0)


def test_text_without_messages_may_be_cut_anywhere():
    assert list(safe_cuts([b"a\n<<<\nb\nCSP/1\nc\nd\n```\ne\nf\n"], 1)) == [
        (2, 2),
        (6, 3),
        (8, 4),
        (22, 8),
        (24, 9),
    ]


def test_more_cuts_than_the_table_holds():
    data = b"x\n" * 5000
    assert list(safe_cuts([data], 1)) == [(2 * place, place + 1) for place in range(1, 5000)]


def test_an_unclosed_heredoc_ends_the_cuts():
    opened = RECORD.replace(b">>>\n", b"")
    assert list(safe_cuts([RECORD, opened, RECORD.replace(b"<<<", b"<<<<"), RECORD], 1)) == [(len(RECORD), 15)]


def test_a_line_over_the_limit_is_not_kept():
    data = [b"x" * 1000] * 50 + [b"\n"] + [b" " * 300] * 3 + [b"CSP/1\n"] + [RECORD, RECORD]
    whole = b"".join(data)
    cuts = list(safe_cuts(data, 1, limit=200))
    assert [offset for offset, _ in cuts] == [50_001, len(whole) - 2 * len(RECORD), len(whole) - len(RECORD)]


@pytest.mark.parametrize("first", ["\ufeffCSP/1", "\ufeffCSP/1;", "CSP/1", "```", "~~~ x", " ```", "x"])
def test_a_line_over_the_limit_means_the_same_in_pieces(first):
    for limit in (60, 200):
        heredoc = b"CONTENT\n<<<\n" + b"x\n" * 80 + b">>>\n"
        for before in ([], [b"CSP/1\n"]):
            data = [*before, first.encode(), b"y" * (limit + 50), b"\n", heredoc, RECORD]
            assert list(safe_cuts(data, 1, limit=limit)) == list(safe_cuts([b"".join(data)], 1, limit=limit))


@pytest.mark.parametrize(("every", "limit"), [(0, 1), (-1, 1), (1, 0)])
def test_numbers_that_make_no_sense(every, limit):
    with pytest.raises(ValueError, match="positive"):
        list(safe_cuts([b""], every, limit=limit))


@pytest.mark.parametrize("rows", [2, 3, 5])
def test_a_small_table_of_cuts_is_filled_again_and_again(rows, monkeypatch):
    data = b"".join(b"%d\nCSP/1\nFROM A\n" % number for number in range(30))
    expected = list(safe_cuts([data], every=1, limit=1000))
    assert len(expected) == 30
    monkeypatch.setattr(turnwire.csp.cuts, "_ROOM", rows)
    assert list(safe_cuts([data], every=1, limit=1000)) == expected
    search = turnwire.csp.cuts._CutSearch(1, 1000)
    for shape in ((1, 2), (0, 2), (4, 3), (4, 1)):
        search.table = np.zeros(shape, np.int64)
        with pytest.raises(ValueError, match=r"^the state or the table has another shape$"):
            search.take(memoryview(data))


@pytest.mark.parametrize("text", [b"x", b"CSP/1", b"csp / 1", b"```"])
def test_a_line_is_known_by_what_is_behind_as_many_blanks_as_the_limit(text):
    """However the bytes come: of a longer line no more is kept than that."""
    limit = 40
    data = b"text\n" + b" " * limit + text + b"\n" + b"y\n" * 3 + b"CSP/1\n" * 2
    whole = list(safe_cuts([data], 1, limit=limit))
    assert whole
    for size in range(1, len(data)):
        pieces = [data[start : start + size] for start in range(0, len(data), size)]
        assert list(safe_cuts(pieces, 1, limit=limit)) == whole, size
    for first in range(len(data)):
        assert list(safe_cuts([data[:first], data[first:]], 1, limit=limit)) == whole, first
