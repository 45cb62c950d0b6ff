"""Lines that belong together: parts of container engines, CSP/1 behind prefixes; cut anywhere, by both cores, in linear
time."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from importlib import import_module
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnwire.framing._line_heads_py as pure
from tests.conftest import BACKENDS, needs_both
from tests.cost.measuring import is_bounded
from tests.csp.generate import GOOD_BLOCKS
from turnwire.framing import assembly, parts
from turnwire.framing.assembly import Assembly, find, undecided
from turnwire.framing.lines import MOST_PREFIX
from turnwire.framing.templates import MOST_LINE

native = import_module("turnwire._native.framing.line_heads") if BACKENDS[0] == "native" else pure

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


def test_tags_of_cri_and_empty_parts() -> None:
    assert texts(f"{CRI}stdout P:x a\r\n{CRI}stdout P \n{CRI}stdout F:y:z b\r\n") == ["ab\r\n"]
    assert texts(f"{CRI}stdout F a\n") == []
    assert texts("at stdout P a\n") == []


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


def test_a_part_of_docker_is_as_long_as_docker_makes_it() -> None:
    shortest = "x" * parts.LEAST_DOCKER
    assert texts(docker(shortest) + docker("y\n")) == [f"{shortest}y\n"]
    assert texts(docker(shortest[1:]) + docker("y\n")) == []
    assert texts(docker(shortest + "\n") + docker("y\n")) == []
    assert texts(docker(shortest) + docker("y")) == [f"{shortest}y"]
    assert texts(docker(shortest) + "text\n") == [shortest]
    assert texts(docker(shortest, log2={"a": [1]}) + docker("y\n")) == [], "no line of Docker has lists"
    assert texts(docker(shortest, "elsewhere") + docker("y\n", "elsewhere")) == []


def test_the_time_of_parts_is_that_of_the_first() -> None:
    """Of a line of one part, too; other streams have times of their own."""
    shortest = "x" * parts.LEAST_DOCKER
    lines = [
        docker(text, stream, time=f"2026-11-22T10:00:{second:02}Z")
        for second, (text, stream) in enumerate(
            [(shortest, "stdout"), (shortest, "stderr")] * 3 + [("y\n", "stdout")], 1
        )
    ]
    first = TIME - TIME % 60_000_000
    assert [(one.time or 0) - first for one in found("".join(lines))[0]] == [1_000_000, 2_000_000]
    cri = [f"2026-11-22T10:00:{second:02}Z stdout {tag} x\n" for second, tag in enumerate("PPF", 1)]
    assert [(one.time or 0) - first for one in found("".join(cri))[0]] == [1_000_000]


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


@pytest.mark.parametrize("prefix", [LOG, "- ", "x: ", f"{CRI}stdout F ", "\t"])
@pytest.mark.parametrize("block", GOOD_BLOCKS.values(), ids=GOOD_BLOCKS)
def test_every_block(prefix: str, block: list[str]) -> None:
    intent = {"FILEOP": "FILE"}.get(block[0].split()[0], block[0].split()[0])
    message = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT {}\n\n{}\n".format(intent, "\n".join(block))
    assert texts(behind(prefix, message)) == [message]
    if prefix.strip():
        assert texts(f"{prefix}{message}") == [message]


def test_two_messages_with_the_same_prefix_and_numbers_that_go_on() -> None:
    first, second = behind(LOG, MESSAGE), behind(LOG.replace("01,123", "9,7"), MESSAGE)
    lines = first.splitlines(True)
    grown = "".join(line.replace("10:00:01,123", f"10:00:{place + 8},{place}") for place, line in enumerate(lines))
    assert texts(grown + second) == [MESSAGE, MESSAGE]


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


@pytest.mark.parametrize("blank", range(4))
@pytest.mark.parametrize("place", ["CSP/1\n", "INTENT RESULT\n"])
def test_blank_lines_in_front_of_the_header_and_behind_it(place: str, blank: int) -> None:
    message = MESSAGE.replace(place, place + "\n" * blank)
    for text in (behind(LOG, message), behind("  ", message), LOG + message):
        assert texts(text) == [message]


@pytest.mark.parametrize("limit", [90, 100, 130])
@pytest.mark.parametrize("prefix", ["> ", LOG])
def test_a_heredoc_that_is_too_long_ends_where_a_message_begins(prefix: str, limit: int) -> None:
    """Since it may never be closed; where none begins in it, at the limit."""
    front = FILE.partition("one\n")[0] + "one\n"
    again = front + "CSP/1\nFROM A\n" + "x\n" * 60
    assert texts(behind(prefix, again), limit=limit) == [front, "CSP/1\nFROM A\n"]
    whole = front + "x\n" * 60
    assert texts(behind(prefix, whole), limit=limit) == [whole[: limit - limit % 2]]


def test_below_the_mark_of_a_list() -> None:
    text = "1. " + MESSAGE.replace("\n", "\n   ").rstrip(" ")
    [one], _ = found(text + "\nparagraph\n")
    assert (one.kind, one.text.decode()) == ("indent", MESSAGE)


def test_in_a_log_of_cri_with_parts_and_another_stream() -> None:
    text = behind(f"{CRI}stdout F ", MESSAGE).replace(
        "stdout F DATA do",
        f"stdout P DATA\n{CRI}stderr F other\n{CRI}stderr P 1\n{CRI}stdout P  d\n{CRI}stderr F 2\n{CRI}stdout F o",
    )
    one, other = found(text)[0]
    assert (one.kind, one.text.decode(), len(one.spans)) == ("prefix", MESSAGE, 3)
    assert (other.kind, other.text) == ("cri", b"12\n")
    inner = behind(f"{CRI}stderr F app: ", MESSAGE)
    assert texts(inner) == [MESSAGE]
    assert texts(behind(f"{CRI}stderr F ", LOG + MESSAGE)) == [MESSAGE]


@pytest.mark.parametrize(
    "text",
    [
        MESSAGE,
        f"\ufeff{MESSAGE}",
        f"x{MESSAGE}",
        f"é{MESSAGE}",
        f"v1_{MESSAGE}",
        f"x {MESSAGE.replace('CSP/1', 'csp/1')}",
        f"x {MESSAGE.replace('CSP/1', 'CSP/1;')}",
        "We speak CSP/1\nand other things\nFROM A\n",
        "We speak CSP/1\n\nFROMAGE\n",
        "x CSP/1",
        "x CSP/1\n",
        "x CSP/1\n\n\n",
        "x" * MOST_PREFIX + f" {MESSAGE}",
    ],
)
def test_what_is_none(text: str) -> None:
    assert found(text)[0] == []


def test_lines_that_cannot_be_its_own_end_a_message() -> None:
    assert texts(behind(LOG, MESSAGE.replace("STATUS", "status"))) == [MESSAGE.partition("STATUS")[0]]
    assert texts(behind(LOG, MESSAGE.replace("RESULT T1\n", "and so on\n"))) == [MESSAGE.partition("\nRESULT T1")[0]]
    assert texts(behind("> ", MESSAGE) + "STATUS x\n") == [MESSAGE]


# --- blocks and limits ---


def test_what_may_go_on_waits() -> None:
    text = behind(LOG, MESSAGE)
    for cut in (place + 1 for place, sign in enumerate(text[:-1]) if sign == "\n"):
        assert found("text\n" + text[:cut], final=False) == ([], 5)
    assert [one.text.decode() for one in found(f"{text}\n{LOG}x\n", final=False)[0]] == [MESSAGE]
    assert found(f"text\n{CRI}stdout P x", final=False) == ([], 5)
    assert found(f"{CRI}stdout P x\n{CRI}stderr P x\n{CRI}stdout F x\n", final=False) == ([], 0)
    assert found(docker(PART), final=False) == ([], 0)
    assert found(f"text\n{LOG}CSP/1\n\n", final=False) == ([], 5)


def test_what_is_too_long_is_cut() -> None:
    assert texts(f"{CRI}stdout P abcd\n" * 5 + f"{CRI}stdout F e\n", limit=10) == ["abcdabcdabcd", "abcdabcde\n"]
    message = MESSAGE.replace("done", "d" * 400)
    assert texts(behind(LOG, message), limit=300) == [message]  # with the line that is too much, so that it is refused
    assert texts(behind(LOG, message + "MORE x\n"), limit=300) == [message]
    late = f"{CRI}stdout P a\n" + f"{CRI}stderr F x\n" * 10 + f"{CRI}stdout F b\n"
    assert texts(late, limit=200) == ["a"], "a part does not wait for ever"
    of_others = len(CRI + "stderr F x\n") * 10
    assert [texts(late, limit=of_others + more) for more in (-1, 0)] == [["a"], ["ab\n"]]
    parts = f"{CRI}stdout P abcd\n{CRI}stdout F e\n"
    assert [texts(parts, limit=size) for size in (3, 4)] == [["abcd"], ["abcde\n"]]


def test_undecided() -> None:
    assert undecided(b"") and undecided(b"2026-11-22 INFO CSP") and undecided(f"{CRI}stdout P {'x' * 5000}".encode())
    assert undecided(b'{"log":"' + b"x" * 5000) and not undecided(b"x" * 5000)
    for size in (-1, 0, 1):
        assert undecided(b"x" * (MOST_PREFIX + len(b"CSP/1\r") + size)) is (size <= 0)
        template = b"CSP/1;!prose;"
        for before in (0, 1, MOST_PREFIX + size):
            line = (b"x" * before)[:-1] + b">" * bool(before) + template
            line += b"y" * (MOST_LINE - len(line))
            assert undecided(line) is (before <= MOST_PREFIX) and not undecided(line + b"y")


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


@needs_both
@given(st.lists(st.sampled_from([*LINES, "CSP/1", " stdout P", "P", "\n"]), max_size=24))
def test_both_cores_see_the_same_heads(lines: list[str]) -> None:
    data = "".join(lines).encode()
    for start in (0, min(7, len(data))):
        assert native.first_hint(data, start, len(data)) == pure.first_hint(data, start, len(data))
        for least in (1, 5, 100, 16381):
            assert native.first_long(data, start, len(data), least) == pure.first_long(data, start, len(data), least)


HOSTILE = {
    "magic": "x CSP/1\n",
    "magic and header": "x CSP/1\nFROM A\n",
    "blank lines": "x CSP/1\n\n\n\n",
    "prefixes": "x CSP/1\nx FROM A\n",
    "open heredocs": "x CSP/1\nFROM A\nCONTENT\n<<<\n",
    "open heredocs with a prefix": "x CSP/1\nx FROM A\nx CONTENT\nx <<<\n",
    "parts without end": f"{CRI}stdout P x\n",
    "parts of both streams": f"{CRI}stdout P x\n{CRI}stderr P x\n",
    "messages in a stream of CRI": f"{CRI}stdout F CSP/1\n{CRI}stderr F CSP/1\n{CRI}stderr F FROM A\n",
    "parts of Docker": docker("x" * 16384),
    "objects in Docker": docker("x" * 16384, attrs={"a": "b" * 100}),
    "long lines": '{"log": ' + "[" * 20000 + "\n",
    "one line": "stdout P CSP/1 ",
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("final", [True, False])
def test_linear_time(name: str, final: bool) -> None:
    piece = HOSTILE[name]

    def measured(count: int) -> float:
        data = (piece * count).encode()
        begin = time.thread_time()
        find(data, 0, len(data), final, LIMIT)
        return time.thread_time() - begin

    count = 200 if len(piece) < 1000 else 20
    assert is_bounded(lambda: measured(count), lambda: measured(4 * count), 4 * 2, 0.01), (
        "four times, twice at the most"
    )
