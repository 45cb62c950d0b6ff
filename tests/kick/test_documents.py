"""Space documents as records of KickLang: told, read, judged, written."""

from __future__ import annotations

import json

import pytest

import turnwire
from tests.conftest import raised
from turnwire import kick
from turnwire.checklists import FAIL, PASS
from turnwire.errors import DecodeError, EncodeError, Reason, RuleError
from turnwire.kick import Section, Space, channels, codec
from turnwire.kick.bulk import SCANNER
from turnwire.kick.space import DOCUMENTS, columns, detect, faults, is_document, read, read_record
from turnwire.read.located import conform

GOOD = {
    "plain": "⫻task/communication:formal/001\n## Message\n\n```json\n{}\n```\n\n⫻task/communication:formal/002\nB\n",
    "behind prose": "# Rules\n\nSome prose.\n\n⫻content/meta-summary:cell/0\nThis is a summary.\n",
    "names alone": "⫻content\nhello\n⫻end\n",
    "windows": "⫻a/b:c/1\r\nx\r\n\r\n⫻a/b:c/2\r\n",
    "another script": "⫻контекст/тип:место/1\nданные\n⫻データ\n😀\n",
    "no end of line": "⫻flow:transformation/execution",
}
LENIENT = {  # as the authors write, though strict reading refuses it
    "empty qualifier": "⫻data/obj:\nBuild it\n",
    "inline text": "⫻data/spec: Overview of the swarm\nbody\n",
    "deep place": "⫻context/file:storyboard/qml/gen.py\nx\n",
    "header in a fence": "⫻a/b:c/1\n```\n⫻context/:meta/0\n```\n",
    "empty type": "⫻end/\nx\n",
}
DAMAGED = "\ufeffintro\n⫻data/obj: \nx\n⫻ a\n⫻\n⫻a/b:c/1/2\n⫻a/b:c/1\n\n⫻a/b:c/3\n⫻a/b:c/3\n"


@pytest.mark.parametrize("text", [*GOOD.values(), *LENIENT.values(), DAMAGED])
@pytest.mark.parametrize("form", [str, str.encode])
def test_is_read_and_written(twin: str, text: str, form: type) -> None:
    data = form(text)
    assert is_document(data) and detect(data) and kick.detect(data)
    assert turnwire.detect(data) == "kick"
    space = read(data, mode="lenient")
    assert isinstance(space, Space)
    assert turnwire.encode(space) == text
    assert kick.encode(space, strict=False) == text
    assert SCANNER.decode(text.encode()) == read_record(text.encode())


@pytest.mark.parametrize("text", GOOD.values())
def test_good(twin: str, text: str) -> None:
    assert read(text) == kick.parse_space(text)
    assert faults(text) == []
    assert codec.check(read(text)) == []


@pytest.mark.parametrize("text", LENIENT.values())
def test_strict_reading_refuses_what_authors_write(twin: str, text: str) -> None:
    caught = raised(DecodeError, read, text)
    first = faults(text)[0]
    assert (first.reason, first.offset, first.line, str(first)) == (
        caught.reason,
        caught.offset,
        caught.line,
        str(caught),
    )
    assert codec.check(read_record(text.encode())) == []


def test_every_fault_and_issue_with_its_line(twin: str) -> None:
    assert [(fault.reason, fault.line) for fault in faults(DAMAGED)] == [
        (Reason.BOM, 1),
        (Reason.BAD_HEADER, 2),
        (Reason.BAD_HEADER, 4),
        (Reason.EMPTY_HEADER, 5),
        (Reason.BAD_HEADER, 6),
    ]
    raw = DAMAGED.encode()
    assert [raw[fault.offset or 0 :][:2] for fault in faults(raw)][1:] == [b" \n", b" a", b"\xe2\xab", b"/2"]
    found = codec.check(read_record(raw))
    assert [(issue.reason, issue.where, issue.severity) for issue in found] == [
        (Reason.BOM, 1, "warning"),
        (Reason.TRAILING_SPACE, 2, "warning"),
        (Reason.LEADING_SPACE, 4, "warning"),
        (Reason.EMPTY_HEADER, 5, "warning"),
        (Reason.INDEX_GAP, 9, "info"),
        (Reason.DUPLICATE_SECTION, 10, "info"),
    ]
    assert raised(RuleError, codec.check, read_record(raw), strict=True).reason is Reason.BOM


def test_faults_are_those_that_strict_reading_raises(twin: str) -> None:
    assert [fault.reason for fault in faults(b"\xe2\xab\xbba\n\xff")] == [Reason.BAD_UTF8]
    assert [fault.reason for fault in faults("text\n")] == [Reason.NO_SECTIONS]
    assert faults("") == []
    fenced = "⫻a\n```\n⫻ bad\n```\n"
    assert [fault.line for fault in faults(fenced)] == [3]
    assert faults(fenced, fences=True) == []


def test_built_documents_are_checked(twin: str) -> None:
    space = Space(sections=[Section("a", index="1", place="p"), Section("a", index="3", place="p")])
    assert [(issue.reason, issue.where) for issue in codec.check(space)] == [(Reason.INDEX_GAP, "/sections/1")]
    assert turnwire.encode(space) == "⫻a:p/1\n⫻a:p/3\n"
    space.sections.append(Section("a b"))
    assert raised(EncodeError, turnwire.encode, space).reason is Reason.BAD_HEADER


NO_DOCUMENTS = [
    "",
    "prose\n",
    " ⫻a\n",
    "x⫻a\n",
    "⫻\n⫻ \n⫻/a\n",
    '{"channel": "⫻command/stop"}',
    '{"a":\n⫻a\n}',
    "[\n⫻a\n]",
]


@pytest.mark.parametrize("text", [*NO_DOCUMENTS, '"\n⫻a"', '@a1|f0|c1|S0|d1|T1|t"x\n⫻a"#'])
def test_what_is_no_document(text: str) -> None:
    assert not is_document(text)
    assert not is_document(text.encode())


def test_columns(twin: str) -> None:
    text = GOOD["behind prose"].replace("cell/0", "cell/0 ") + "⫻end\n"
    raw = text.encode()
    row = columns(raw)
    start, length = row["subject"]
    assert raw[start : start + length].decode() == "⫻content/meta-summary:cell/0"
    assert (row["sections"], row["content"]) == (2, (0, len(raw)))
    kinds = next(column.names for column in SCANNER.columns if column.name == "type")
    assert kinds[row["type"]] == "document" == DOCUMENTS.kind
    assert columns("\ufeff⫻a".encode())["subject"] == (3, 4)
    raised(DecodeError, columns, b"\xe2\xab\xbba\xff")


def test_an_envelope_is_an_envelope(twin: str) -> None:
    envelope = channels.dispatch("T-7", "WePlan", "Write the plan.")
    text = codec.encode(envelope)
    assert detect(text) and not is_document(text)
    assert type(read(text)).__name__ == type(SCANNER.decode(text.encode())).__name__ == "Envelope"
    [batch] = turnwire.scan(text.encode(), wire="kick")
    assert list(batch["subject"]) == list(batch["channel"]) == ["⫻command/dispatch"]


# --- the checklist ---


def verdicts(data: bytes) -> dict[str, str]:
    return {line.clause.id: line.status for line in conform("kick", data)}


@pytest.mark.parametrize("text", [*GOOD.values(), *LENIENT.values()])
def test_documents_conform_as_their_authors_write_them(text: str) -> None:
    found = conform("kick", text.encode())
    assert found and found.records == 1
    assert {name for name, verdict in verdicts(text.encode()).items() if verdict == PASS} == {"documents", "headers"}


def test_documents_that_do_not_conform() -> None:
    found = conform("kick", DAMAGED.encode())
    assert not found
    assert [fault.line for fault in found.line("documents").faults] == [], "what stands in front of it is prose"
    assert [fault.line for fault in found.line("headers").faults] == [2, 4, 5]
    bad = conform("kick", "⫻a\nx\n\n".encode() + b"\xff\n")
    assert [(fault.line, fault.text.split(":")[0]) for fault in bad.line("documents").faults] == [(4, "bad_utf8")]


def test_documents_among_envelopes() -> None:
    text = '{"sender": "a", "receiver": "b", "channel": "⫻report/status"}\n⫻a\n⫻ b\n'
    found = conform("kick", text.encode())
    assert found.line("headers").status == "not applicable", "an envelope stands in front of it"
    assert [fault.line for fault in found.line("envelope").faults] == [1]
    both = kick.conformance(
        json.dumps({"id": "1"}), GOOD["plain"], kick.parse_space(LENIENT["inline text"], mode="lenient"), "⫻ x\n"
    )
    assert (both.records, both.rejects) == (3, 1)
    assert [fault.line for fault in both.line("envelope").faults] == [1]
    assert [fault.line for fault in both.line("headers").faults] == [4]
    assert both.line("documents").status == PASS and both.line("headers").status == FAIL
