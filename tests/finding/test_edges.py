"""What stands around messages, at the edge of what is one: prefixes and their digits, lines in strings."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable

import pytest

import turnwire
from tests.counting import called
from tests.sstp.test_session import message
from turnwire import csp, sstp
from turnwire.errors import DecodeError
from turnwire.framing import lines
from turnwire.framing.documents import Documents
from turnwire.framing.lines import MOST_PREFIX, Assembly, Piece
from turnwire.read import wrapping
from turnwire.read.beside import elements_in_strings, within
from turnwire.read.contents import contents, unpacked
from turnwire.read.explaining import _AROUND, _excerpt
from turnwire.read.judging import conform, conformance
from turnwire.read.located import located
from turnwire.read.wrapping import Text, written

pytestmark = pytest.mark.once
SAID = sstp.encode(message("ann", 1))
CSP = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT QUERY\n\nQUERY Q1\nGOAL y"


def found(text: str) -> list[tuple[str, list[int]]]:
    """The clauses that a log breaks, and in which lines."""
    judged = conform("sstp", text.encode()).lines
    return [(line.clause.id, [fault.line for fault in line.faults]) for line in judged if line.faults]


@pytest.mark.parametrize(
    ("stray", "told"),
    [
        ('{"type":"query"}', False),
        ('{"kind":"query"}', True),
        ('{"type":"query","actor_id":"a"}', True),
        ('{"type":"query","other":"a"}', False),
        ('{"type":"letter","actor_id":"a"}', False),
    ],
)
def test_what_is_near_to_a_message_is_told_where_it_stands(stray: str, told: bool) -> None:
    for text in (f"{SAID}\n{stray}\n", f"[{SAID},{stray}]", json.dumps({"all": [json.loads(SAID), json.loads(stray)]})):
        assert [clause for clause, _ in found(text)] == ["object"] * told, text


@pytest.mark.parametrize("ends", ["", "\n", "\r\n", "\n\n"])
@pytest.mark.parametrize("said", ["{} trailing words", "words {}"])
def test_a_string_of_one_line_is_one_of_a_log_with_its_end_and_without(said: str, ends: str) -> None:
    assert found(json.dumps({"text": said.format(SAID) + ends}) + "\n") == []


@pytest.mark.parametrize("ends", ["", "\n"])
def test_a_string_of_several_lines_is_none(ends: str) -> None:
    text = json.dumps({"text": f"Sure, here it is:\n{SAID}{ends}"}) + "\n"
    assert [clause for clause, _ in found(text)] == ["raw"]


def test_a_prefix_is_told_once_whatever_its_digits_are() -> None:
    def line(number: int, said: str) -> str:
        text = sstp.encode(message("ann" if number % 2 else "bob", (number + 1) // 2))
        return f"2026-01-01T00:00:{number:02}Z bot: {said}{text}\n"

    assert found("".join(line(number, "Sure, here is it: ") for number in range(1, 13))) == [("raw", [1])]
    both = [line(number, "Sure, here is it: " if number % 3 else "Of course, this is it: ") for number in range(1, 9)]
    assert found("".join(both)) == [("raw", [1, 3])]
    assert found("".join(line(number, "") for number in range(1, 13))) == []


@pytest.mark.parametrize("size", [1, 2, MOST_PREFIX - 1, MOST_PREFIX, MOST_PREFIX + 1, MOST_PREFIX + 2])
@pytest.mark.parametrize("letter", ["x", " ", "\u20ac"])
def test_a_prefix_has_so_many_bytes_at_most(size: int, letter: str) -> None:
    own = (letter * size).encode()[: size - 2].decode(errors="ignore")
    prefix = own + "-" * (size - 2 - len(own.encode())) + "> " if size > 1 else ">"
    assert len(prefix.encode()) == size
    data = "".join(f"{prefix}{line}\n" for line in CSP.split("\n")).encode()
    for text in (data, b"other text\n" + data):
        records = [offset for batch in turnwire.scan(text) for offset in batch["offset"].tolist()]
        assert records == ([text.index(b"CSP/1")] if size <= MOST_PREFIX else [])


@pytest.mark.parametrize(("text", "line"), [("no message", 1), ("CSP/1\nFROM\n", 2), (CSP.replace("TO B", "TO"), 3)])
def test_the_line_is_told_from_the_second_one_on(text: str, line: int) -> None:
    with pytest.raises(DecodeError) as caught:
        csp.decode(text)
    assert caught.value.line == line
    assert (f"in line {line}" in turnwire.explain(caught.value)) is (line > 1)


@pytest.mark.parametrize("more", [-1, 0, 1, 30])
def test_what_is_left_out_around_a_fault_is_marked(more: int) -> None:
    """In front of it, and behind."""
    raw = b"x" * (_AROUND + more) + b"!" + b"y" * (_AROUND - 1)
    assert _excerpt(raw, _AROUND + more).startswith("…") is (more > 0) and not _excerpt(raw, _AROUND + more).endswith(
        "…"
    )
    raw = b"!" + b"y" * (_AROUND - 1 + more)
    assert _excerpt(raw, 0).endswith("…") is (more > 0) and not _excerpt(raw, 0).startswith("…")


CRI = "2026-11-22T10:00:01.123456789Z stderr "
PARTS = {
    "CSP/1 cut in its first line": ["P INFO> CS", "F P/1", *[f"F {line}" for line in CSP.split("\n")[1:]]],
    "CSP/1 that is refused": ["P INFO> CS", "F P/1", "F FROM A", "F TO B", "F CTX C0", "F INTENT x", "F ", "F TASK T1"],
    "nSLIP": ["P INFO @a0|f0|c1|", "F S1|d2|T0#"],
    "JSON": ['P INFO {"a":', "F 1}"],
    "what may begin CSP/1": ["P INFO CSP/1 FR", "F OM"],
}


@pytest.mark.parametrize("name", PARTS)
def test_messages_in_parts_are_found_however_the_bytes_are_cut(name: str) -> None:
    data = "".join(f"{CRI}{line}\n" for line in PARTS[name]).encode() * 2

    def fed(size: int) -> list[str]:
        decoder, told = turnwire.Decoder(), []
        for piece in [*(data[at : at + size] for at in range(0, len(data), size)), None]:
            while True:
                try:
                    told += map(repr, decoder.close() if piece is None else decoder.feed(piece))
                except DecodeError as error:
                    told.append(str(error))
                    piece = b"" if piece is not None else None
                    continue
                break
        return told

    whole = fed(len(data))
    assert all(fed(size) == whole for size in (1, 2, 7, 33, 100))
    assert len(whole) == (2 if ("CSP/1 " in name and "may" not in name) or name == "nSLIP" else 0)


def test_rejects_are_counted_in_a_list_of_messages() -> None:
    found = conformance("nslip", [(1, "@a0|f0|c1|S1|d2|T0#"), (2, "@nonsense"), (3, "@a0|f0|c1|S1|d2|T0#"), (4, "x")])
    assert (found.records, found.rejects) == (2, 2)


def test_lines_of_elements_in_several_strings() -> None:
    class Strings:
        data = b'\n\n"[{}]"\n\n"[{},1]"\n\n"[1]"'

        def strings(self, *_: object) -> list[tuple[int, bytes]]:
            return [(2, b"[{}]"), (10, b"[{},1]"), (18, b"[1]")]

    found = [(place, line) for place, line, _ in elements_in_strings(Strings())]
    assert found == [(place, 1 + Strings.data.count(b"\n", 0, place)) for place in (2, 10, 18)]


@pytest.mark.parametrize("depth", range(10))
def test_objects_in_texts_in_objects(depth: int) -> None:
    value: dict[str, object] = {"k": 1}
    for _ in range(depth):
        value = {"k": json.dumps(value)}
    assert len(list(within(value, ("k",)))) == min(depth, 8) + 1


def nested(inside: str, depth: int) -> str:
    """A text in so many strings, each in an object."""
    for _ in range(depth):
        inside = json.dumps({"a": inside})
    return inside


@pytest.mark.parametrize("depth", [1, 7, 8])
def test_a_message_in_strings_in_strings(depth: int) -> None:
    """How often it is wrapped, as deep as messages are found; of the last string it is text that has quotes."""
    token = "@a3|f0|c1|S0|d1|T1#"
    for inside, more in ((token, 0), (f'x: "{token}"', 1)):
        [one] = turnwire.extract(nested(inside, depth))
        assert one.wrapped == "json_string/" * (depth + more) + "bare"


@pytest.mark.parametrize("depth", [1, 7, 8, 9])
def test_what_the_innermost_string_says(depth: int) -> None:
    raw = nested("one", depth).encode()
    text, place = Text(raw).innermost(raw.index(b"one"))
    assert (text.raw, place) == ((b"one", 0) if depth < 9 else (b'{"a": "one"}', 7))


@pytest.mark.parametrize("depth", range(9))
def test_a_reject_in_strings_in_strings_is_shown_without_their_escapes(depth: int) -> None:
    refused = SAID[:-1] + ',"x":1,"x":2}'
    [reject] = located(nested(refused, depth).encode())
    assert turnwire.explain(reject) == turnwire.explain(next(located(refused.encode())))


def test_messages_in_two_strings_of_one_string_are_both_wrapped_twice() -> None:
    both = json.dumps({"a": f"one {SAID}", "b": f"another {SAID}"})
    assert [one.wrapped for one in turnwire.extract(json.dumps({"log": both}))] == ["json_string/json_string/prose"] * 2


def test_what_is_around_messages_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted, not measured: objects that are open at one fault, a string up to each message in it, and the escapes
    of a line in parts."""
    find = wrapping.reader("json").find
    tried: list[int] = []

    class Reader:
        def find(self, raw: bytes, start: int) -> object:
            tried.append(start)
            return find(raw, start)

    with monkeypatch.context() as patch:
        patch.setattr(wrapping, "reader", lambda _: Reader())
        assert list(Text(b'{"a": ' * 50 + b"x").objects()) == []
    assert tried == [0]
    text = json.dumps({"log": json.dumps({"a": f"{SAID} " * 40})})
    read = called(monkeypatch, wrapping, "_decoded", len)
    assert len(turnwire.extract(text)) == 40
    assert sum(read) < 6 * len(text)
    looked = called(monkeypatch, lines, "places")
    found = Assembly("docker", [Piece(0, 99, 9, b"a\nb\nc", b"a\\nb\\nc")], None)
    assert [found.written(at) for at in range(6)] == [9, 10, 12, 13, 15, 16]
    assert len(looked) == 1


def test_where_what_a_string_says_is_written_behind_each_kind_of_escape() -> None:
    """Letters at the edges of one, two, three and four bytes of UTF-8, all of them as escapes, and the short ones."""
    letters = "a\x00\x01\x7f\x80\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffffz"
    units = [letter.encode("utf-16-be").hex() for letter in letters]
    told = ["".join(f"\\u{unit[at : at + 4]}" for at in range(0, len(unit), 4)) for unit in units]
    letters += '"\\/\b\f\n\r\t'
    told += ['\\"', "\\\\", "\\/", "\\b", "\\f", "\\n", "\\r", "\\t"]
    places = {len(letters[:at].encode()): sum(map(len, told[:at])) for at in range(len(told) + 1)}
    assert json.loads(f'"{"".join(told)}"') == letters
    assert written("".join(told).encode(), places) == places
    for at in places:
        assert written("".join(told).encode(), [at]) == {at: places[at]}


@pytest.mark.parametrize("inside", ["", "}", "}}", "} {", "{}", "{}}}", "{{", "[}", "}" * 9, '\\"}}', '{\\"'])
@pytest.mark.parametrize("broken", ["\n", "\t", "\x00"])
def test_braces_in_a_string_that_is_broken_are_none_of_json(inside: str, broken: str) -> None:
    """What comes behind it is found; an object whose string is whole says what is in it."""
    text = f'{{"a": "{inside}{broken}{{"b": 1}} {{"c": {{"d": "{inside}"}}}} {{"e": 2}}'
    said = [value for _, _, value in Text(text.encode()).objects() if value]
    assert said == [{"b": 1}, {"c": {"d": json.loads(f'"{inside}"')}}, {"e": 2}]
    ends = [(one.start, one.end, one.wrapped) for one in turnwire.extract(f"{text} {SAID}")]
    assert ends == [(len(text) + 1, len(text) + 1 + len(SAID), "prose")]


@pytest.mark.parametrize("front", ["", " ", "\n", "\r\n\t "])
@pytest.mark.parametrize("behind", ["", " ", "\n"])
def test_what_is_no_object_in_a_list_of_messages_whatever_is_around_the_list(front: str, behind: str) -> None:
    for more in ('"words"', "7", "null", "true"):
        assert [clause for clause, _ in found(f"{front}[{SAID},{more}]{behind}")] == ["object"], more
    assert found(f"{front}[{SAID}]{behind}") == []


@pytest.mark.parametrize("more", [-1, 0, 1])
@pytest.mark.parametrize("stored", [bytes, gzip.compress])
def test_a_content_has_so_many_bytes_at_most(more: int, stored: Callable[[bytes], bytes]) -> None:
    """Of one that is compressed, when it is read; bytes that are there already are what they are."""
    most = 1 << 12
    data = b"x" * (most + more)
    if more > 0 and stored is gzip.compress:
        with pytest.raises(ValueError, match="cannot be read at once"):
            list(contents(stored(data), most=most))
    else:
        assert list(contents(stored(data), most=most)) == [(None, data)]


@pytest.mark.parametrize("cut", [1, 8, 20])
def test_a_compressed_input_that_is_damaged_is_not_taken_for_a_whole_one(cut: int) -> None:
    """What came before the damage is not all there is; whoever reads line by line is told at the end."""
    packed = gzip.compress(b"a line\n" * 1000, mtime=0)
    assert [content for _, content in contents(packed)] == [b"a line\n" * 1000]
    with pytest.raises(DecodeError, match="gzip"):
        list(contents(packed[:-cut]))
    with pytest.raises(DecodeError, match="gzip"), unpacked(io.BytesIO(packed[:-cut])) as lines:
        assert set(lines.readlines()[:-1]) <= {b"a line\n"}


def test_characters_are_counted_for_places_in_any_order() -> None:
    text = "a\u00e9\u20ac\U0001f600b"
    known = {len(text[:number].encode()): number for number in range(len(text) + 1)}
    for places in (sorted(known), sorted(known, reverse=True), [*known, *known]):
        assert Text(text.encode()).characters(places) == known


def test_what_was_found_in_an_input_keeps_documents_out_of_all_that_follows() -> None:
    """However many blocks without anything are between; not in another input."""
    document = "\u2afba/b:c\n".encode()
    for found, several in (([], 1), ([(0, 1)], 0)):
        state = Documents(1 << 20)
        state.settle(b"x\n", 0, 2, found)
        for _ in range(2):
            state.settle(b"y\n", 0, 2, [])
            assert len(state.claims(document, 0, len(document), True, [])) == several
