"""Lines that belong together: parts of container engines, CSP/1 behind prefixes; cut anywhere, by both cores, in linear
time."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwire.framing import assembly, parts
from turnwire.framing.assembly import Assembly, find

LIMIT = 1 << 24
MESSAGE = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT RESULT\n\nRESULT T1\nSTATUS OK\nDATA done\n"
CONTENT = "one\n\nCSP/1\nthree <<<\n"
FILE = f"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT FILE\n\nFILEOP F1 CREATE\nPATH a.txt\nCONTENT\n<<<\n{CONTENT}>>>\n"
LOG = "2026-11-22 10:00:01,123 INFO agent[7]: "
CRI = "2026-11-22T10:00:01.123456789Z "
TIME = 1795341601123456


@pytest.fixture(autouse=True)
def twin(core: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembly, "_heads", core("framing.line_heads"))
    monkeypatch.setattr(parts, "_core", core("json.lines"))


def found(text: str | bytes, final: bool = True, limit: int = LIMIT) -> tuple[list[Assembly], int]:
    data = text.encode() if isinstance(text, str) else text
    result, position = find(data, 0, len(data), final, limit)
    for one in result:
        faithful(one, data)
    return result, position


def faithful(one: Assembly, data: bytes) -> None:
    """What it says of places is true: each byte that is written as it is said stands there, and in order."""
    last = 0
    for at in range(0, len(one.text), max(len(one.text) // 200, 1)):
        place, end = one.written(at), one.written_end(at + 1)
        assert any(start <= place < end <= stop for start, stop in one.spans)
        assert last <= place < end
        assert data[place:end] == one.text[at : at + 1] or data[place : place + 1] == b"\\"
        last = place
    assert one.written(len(one.text)) == one.written_end(len(one.text))
    assert one.start == one.spans[0][0] and one.stop == one.spans[-1][1]


def texts(text: str | bytes, **options: int) -> list[str]:
    return [one.text.decode() for one in found(text, **options)[0]]


def behind(prefix: str, message: str) -> str:
    """The message with the prefix in front of each line, of blank lines without the white space at its end."""
    return "".join((prefix if line.strip() else prefix.rstrip()) + line for line in message.splitlines(True))


# --- parts ---


def test_parts_of_cri() -> None:
    lines = [
        f"{CRI}stdout P abc ",
        f"{CRI}stderr F other",
        f"{CRI}stdout P def",
        f"{CRI}stdout F ghi",
        f"{CRI}stdout F x",
    ]
    text = "\n".join(["text", *lines]) + "\n"
    [one], position = found(text)
    starts = [text.index(line) for line in lines]
    assert (one.kind, one.text, one.time) == ("cri", b"abc defghi\n", TIME)
    assert one.spans == ((starts[0], starts[1]), (starts[2], starts[4]))
    assert position == len(text)
    assert one.written(4) == text.index("def") and one.written_end(4) == text.index(f"\n{CRI}stderr")


def test_parts_of_cri_of_both_streams_at_once() -> None:
    lines = ["stdout P a", "stderr P 1", "stdout P b", "stderr F 2", "stdout F c"]
    assert texts("".join(f"{CRI}{line}\n" for line in lines)) == ["abc\n", "12\n"]


@pytest.mark.parametrize("end", ["", f"{CRI}stderr F x\n", "no line of CRI\n"])
def test_parts_of_cri_without_the_last_one_are_what_there_is(end: str) -> None:
    assert texts(f"{CRI}stdout P a\n{CRI}stdout P b\n{end}") == ["ab"]


def docker(log: str, stream: str = "stdout", **more: object) -> str:
    return json.dumps({"log": log, "stream": stream, "time": "2026-11-22T10:00:01.123456789Z", **more}) + "\n"


PART = 'é"' * 6000  # 18,000 bytes


def test_parts_of_docker() -> None:
    lines = [docker(PART), docker("other\n", "stderr"), docker(PART, attrs={"tag": "a"}), docker("end\n")]
    lines[2] = json.dumps(dict(reversed(json.loads(lines[2]).items()))) + "\n"
    text = "".join([*lines, docker("next\n")])
    [one], _ = found(text)
    assert (one.kind, one.text.decode(), one.time) == ("docker", f"{PART}{PART}end\n", TIME)
    assert one.spans == (
        (0, len(lines[0])),
        (len(lines[0] + lines[1]), len("".join(lines))),
    )
    assert text[one.written(0) :].startswith('\\u00e9\\"')
    assert text[one.written(1) :].startswith('\\u00e9\\"'), "inside a character: where that begins"
    assert text[one.written(len(one.text) - 4) :].startswith('end\\n"')
    assert text[one.written_end(len(one.text)) :].startswith('", "stream"')


# --- CSP/1 ---


@pytest.mark.parametrize("message", [MESSAGE, FILE, MESSAGE.replace("\n", "\r\n")])
@pytest.mark.parametrize(
    ("prefix", "kind"),
    [
        *(
            (prefix, "prefix")
            for prefix in (LOG, "[x] ", "a|", "log>", "k: ", "2026-11-22T10:00:09Z ", f"{CRI}stdout F ")
        ),
        *((prefix, "indent") for prefix in ("  ", "\t", "> ", ">> ", "    ")),
    ],
)
def test_a_prefix_on_each_line(message: str, prefix: str, kind: str) -> None:
    text = f"before\n{behind(prefix, message)}"
    [one], _ = found(text + behind(prefix, "and other lines\nof the same log\n"))
    assert (one.kind, one.text.decode()) == (kind, message)
    assert one.spans == ((7, len(text.encode())),)


@pytest.mark.parametrize("message", [MESSAGE, FILE])
def test_a_prefix_on_the_first_line_alone(message: str) -> None:
    text = f"{LOG}hello\n{LOG}{message}{LOG.replace('01', '59')}FROM elsewhere\nGET x\n"
    [one], _ = found(text)
    assert (one.kind, one.text.decode(), one.time) == ("prefix", message, TIME - 456)
    assert texts(f"{LOG}{message}\nnext paragraph\n") == [message]
    assert texts(f"{LOG}{message}{MESSAGE}") == [message], "a message at the start of lines is not part of it"
    assert texts(f"{LOG}{message}{LOG}{message}") == [message, message]


def test_the_content_of_a_heredoc_may_look_like_the_log() -> None:
    message = FILE.replace("one\n", f"{LOG}one\n{LOG}CSP/1\n")
    assert texts(LOG + message) == [message]
    unclosed = LOG + message.replace(">>>\n", "")
    assert texts(unclosed) == [FILE.partition("one\n")[0]], "without its end it holds no record of the log"


def test_lines_that_cannot_be_its_own_end_a_message() -> None:
    assert texts(behind(LOG, MESSAGE.replace("STATUS", "status"))) == [MESSAGE.partition("STATUS")[0]]
    assert texts(behind(LOG, MESSAGE.replace("RESULT T1\n", "and so on\n"))) == [MESSAGE.partition("\nRESULT T1")[0]]
    assert texts(behind("> ", MESSAGE) + "STATUS x\n") == [MESSAGE]


# --- blocks and limits ---


LINES = [
    *MESSAGE.splitlines(True),
    *(LOG + line for line in (*MESSAGE.splitlines(True), "hello\n", "<<<\n", ">>>\n", "CONTENT\n")),
    *("  " + line for line in MESSAGE.splitlines(True)),
    *(f"{CRI}stdout {tag} {text}\n" for tag in "PF" for text in ("CSP/1", "FROM A", "")),
    *(f"{CRI}stderr {tag} {text}\n" for tag in "PF" for text in ("CSP/1", "FROM A", "")),
    *("x CSP/1\n", "x1 CSP/1\n", "x22 CSP/1\r\n"),
    *("CONTENT\n", "<<<\n", ">>>\n", "\n", "text\n", docker("x" * 16384), docker("end\n"), docker(PART, "stderr")),
    *("  \n", "> CSP/1\r\n", "> FROM A\r\n", ">\r\n", "x\r\n"),
]  # fmt: skip


@given(
    st.lists(st.sampled_from(LINES), max_size=24),
    st.lists(st.integers(0, 24), max_size=3),
    st.sampled_from([40, 300, LIMIT]),
)
def test_cuts_change_nothing(lines: list[str], cuts: list[int], limit: int) -> None:
    data = "".join(lines).encode()
    whole = [(one.kind, one.text, one.spans, one.time) for one in find(data, 0, len(data), True, limit)[0]]
    pieces, position = [], 0
    for cut in sorted(cuts):
        stop = len("".join(lines[:cut]).encode())
        if stop > position:
            some, position = find(data, position, stop, False, limit)
            pieces += some
    pieces += find(data, position, len(data), True, limit)[0]
    for one in pieces:
        faithful(one, data)
    assert [(one.kind, one.text, one.spans, one.time) for one in pieces] == whole
