"""JSON at edges of the quick ways: many keys, escapes that are cut off, items that look like JSON, numbers as large as
there are. All cores agree."""

from __future__ import annotations

import json
import random
import re

import pytest

from tests.log.json_engines import RECORDS, both
from turnwire.contract import LIMITS

pytestmark = pytest.mark.once


def test_many_objects_have_the_same_many_keys() -> None:
    """Only within one object a key may stand once; the order of all is another, so that none is met again."""
    keys, chance = [f"k{number}" for number in range(60)], random.Random(6)
    message = json.loads(next(record for record in RECORDS["sstp"] if record.startswith(b'{"header"')))
    message["payload"]["rows"] = [dict.fromkeys(chance.sample(keys, 60), number) for number in range(200)]
    good = json.dumps(message).encode()
    message["payload"]["rows"][-1] = {}
    bad = json.dumps(message).encode().replace(b"{}", json.dumps(dict.fromkeys(keys)).encode()[:-1] + b', "k7": 1}')
    found = both("sstp", good + b"\n" + bad + b"\n" + good)
    assert (found.columns["length"], found.bad) == ([len(good)] * 2, 1)


@pytest.mark.parametrize("escape", [rb"\ud83d\ude00", rb"\u0AF9\u90fa", rb"\n\\"])
def test_an_escape_that_is_cut_off_anywhere(escape: bytes) -> None:
    """Or that ends with a byte at the edge of what may stand there: whether an object is cut off or damaged."""
    record = next(record for record in RECORDS["sstp"] if record.startswith(b'{"header"'))
    front = record[: record.index(b'"payload"')] + b'"payload": {"a": "'
    for size in range(len(escape)):
        for last in (b"", *(bytes([byte]) for byte in b'/09:@AFG`afgu\\"x')):
            for behind in (b"", b'"\n' + record):
                both("sstp", front + escape[:size] + last + behind)


@pytest.mark.parametrize("escape", [rb"\ud83d\ude00", rb"\ud83d\n\\", rb"\ud83d\u0041", rb"\ud83dx"])
def test_an_escape_that_the_limit_cuts(escape: bytes) -> None:
    """In a line that is read in pieces: an object that a piece cuts off is read again from its start on."""
    record = next(record for record in RECORDS["sstp"] if record.startswith(b'{"header"'))
    before, behind = record.split(b'"g"')
    start = b"see " * 50 + before + b'"'
    line = start + escape + b'"' + behind + record * 3
    good = 4 if escape.endswith(b"\\ude00") else 3
    for size in range(len(escape) + 1):
        assert both("sstp", line, limit=len(start) + size).rows == good


@pytest.mark.parametrize("value", [b"true", b"false", b"null", b"-12.5e+3", b"[]", b"{}", b'""'])
def test_a_value_that_the_limit_cuts(value: bytes) -> None:
    record = next(record for record in RECORDS["sstp"] if record.startswith(b'{"header"'))
    before, behind = record.split(b'"payload": {')
    start = b"see " * 50 + before + b'"payload": {"a": '
    line = start + value + b", " + behind + record * 3
    for size in range(len(value) + 3):
        assert both("sstp", line, limit=len(start) + size).rows == 4, size


PRINCIPLES: tuple[list[str], ...] = ([], ["a"], ["a, b"], ["]"], [",", "a", "],"], ['"', "\\", "["], ["\u00e9,"] * 9)


@pytest.mark.parametrize("space", [(",", ":"), (", ", ": "), (" ,\t", ":\r")])
def test_principles_are_counted_whatever_they_say(space: tuple[str, str]) -> None:
    message = next(json.loads(record) for record in RECORDS["sap"] if b'"constitutionalContext"' in record)
    for texts in PRINCIPLES:
        for inner in (texts, [*texts, "x"], ["x", *texts]):
            message["constitutionalContext"]["principles"] = inner
            found = both("sap", json.dumps(message, separators=space, ensure_ascii=False).encode())
            assert (found.columns["principles"], found.bad) == ([len(inner)], 0), inner


TOO_LARGE = str(2**1024 - 2**970)
"""From here on the nearest double is infinite."""


def large_numbers() -> list[str]:
    """Numbers about as large as a double can be, in every form: by so many digits, by a point, by exponents."""
    found = []
    for size in (1, 2, 16, 17, 18, 50, 150, 308, 309):
        for more in (-1, 0, 1):
            digits = str(int(TOO_LARGE[:size]) + more).rjust(size, "0")
            found += [f"{digits[0]}.{digits[1:] or 0}e{exponent}" for exponent in (307, 308, 309)]
            found += [f"{digits}e{309 - size}", f"{digits}00.00E+{307 - size}", f"0.00{digits}e311", f"{digits}.5e-1"]
            found += [f"{digits}{'0' * (309 - size)}.0", f"0.0{'0' * size}{digits}e{310 + size}"]
            found += [f"-{digits}e{309 - size}"]
    found += [f"{sign}0.{'0' * 400}1e{exponent}" for sign in ("", "-") for exponent in (708, 709, 710, 711)]
    return [one for one in found if one.strip("-0.") and not one.startswith("00")]


@pytest.mark.parametrize("wire", ["sstp", "sap"])
def test_numbers_about_as_large_as_a_double(wire: str) -> None:
    record = next(record for record in RECORDS[wire] if b'"payload":{' in record.replace(b" ", b""))
    front, behind = record.split(b'"payload"', 1)
    behind = behind[behind.index(b"{") + 1 :]
    lines = [front + b'"payload": {"n": %s, ' % one.encode() + behind for one in large_numbers()]
    found = both(wire, b"\n".join(lines))
    assert found.bad > 100
    assert len(found.columns["offset"]) > 100
    for line in lines[::7]:
        both(wire, line + b"\n" + record)


NUMBERS = ("1", "-1", "0", "10", "1.5", "1e5", "1E+05", "-0.0e-9", "12345678901234567")


@pytest.mark.parametrize("wire", ["sstp", "sap"])
def test_a_number_with_one_more_character_anywhere(wire: str) -> None:
    """Behind its digits, point, exponent and sign, those that stand beside digits in the table of characters, too."""
    record = next(record for record in RECORDS[wire] if b'"payload":' in record)
    place = record.index(b"{", record.index(b'"payload"')) + 1
    for number in NUMBERS:
        for at in range(len(number) + 1):
            for more in ":/.;-+e_ 09":
                odd = f'"n":{number[:at]}{more}{number[at:]},'.encode()
                both(wire, record[:place] + odd + record[place:])


def replaced(line: bytes, name: str, values: list[str]) -> list[bytes]:
    """A message with other texts as the value of a member that it has once."""
    at = line.index(b'"', line.index(f'"{name}"'.encode()) + len(name) + 3) + 1
    behind = line.index(b'"', at)
    return [line[:at] + value.encode() + line[behind:] for value in values]


ENDS = (
    ".5:Z",
    ".:Z",
    ".Z",
    ".5/Z",
    ":Z",
    "Z0",
    "0Z",
    ",5Z",
    " Z",
    "z",
    "Z ",
    "+00:00",
    "",
    ".0123456789Z",
    ".5",
    ".5z",
)
"""What may stand behind the seconds of a time, or may not."""


@pytest.mark.parametrize(("wire", "name"), [("sap", "issuedAt"), ("kick", "timestamp")])
def test_times_that_begin_as_the_one_before(wire: str, name: str) -> None:
    """A time of the minute of the last one is read by what differs."""
    line = next(record for record in RECORDS[wire] if f'"{name}"'.encode() in record)
    day = "2026-01-15T10:00:"
    texts = [f"{day}{second}{end}" for second in ("00", "59", "60", ":0", "0:", "6a") for end in ENDS]
    texts += [f"{day[:at]}9{day[at + 1 :]}30Z" for at in range(len(day))]
    good = replaced(line, name, [f"{day}30Z"])[0]
    for other in replaced(line, name, texts):
        both(wire, b"\n".join([good, other, good, other]))


@pytest.mark.parametrize("wire", ["sstp", "sap"])
def test_members_that_are_true_or_false_in_messages_that_repeat(wire: str) -> None:
    record = next(record for record in RECORDS[wire] if b'"payload":' in record)
    place = record.index(b"{", record.index(b'"payload"')) + 1
    values = ["true", "false", "true", "null", "false", "1", "true", "tru", "falsey", '"true"', "[]", "true ", "t"]
    members = [f'"on":{value},"off":{values[-at]},'.encode() for at, value in enumerate(values)]
    lines = [record[:place] + member + record[place:] for member in members]
    found = both(wire, b"\n".join(lines * 3))
    assert 10 < found.bad < 30
    for values in (["true", "false"] * 3, ["true"] * 4 + ["1", "null", "false"], ["false", "true", "truf", "true"]):
        both(wire, b"\n".join(record[:place] + f'"on":{value},'.encode() + record[place:] for value in values))


@pytest.mark.parametrize("wire", ["sstp", "sap", "kick"])
def test_a_key_and_a_number_as_long_as_they_may_be(wire: str) -> None:
    record = next(record for record in RECORDS[wire] if record.startswith(b"{"))
    for size in (LIMITS.key - 1, LIMITS.key, LIMITS.key + 1):
        for key in ("k" * size, "\\u006b" + "k" * (size - 6)):
            both(wire, f'{{"{key}":1,'.encode() + record[1:] + b"\n" + record)
    for size in (LIMITS.integer_digits - 1, LIMITS.integer_digits, LIMITS.integer_digits + 1):
        for sign in ("", "-"):
            both(wire, f'{{"n":{sign}{"7" * size},'.encode() + record[1:] + b"\n" + record)


@pytest.mark.parametrize("wire", ["sstp", "sap", "kick"])
def test_texts_that_are_escaped_up_to_any_place(wire: str) -> None:
    """The more of a text is escaped, the longer it is: up to what there is room for, and beyond."""
    record = max((record for record in RECORDS[wire] if record.startswith(b"{")), key=len)
    texts = re.findall(rb'"(\w+)": ?"([ -!#-\[\]-~]{3,40})"', record)
    assert len(texts) > 2
    for name, value in texts:
        for size in range(len(value) + 1):
            text = b"".join(b"\\u%04x" % byte for byte in value[:size]) + value[size:]
            other = record.replace(b'"' + value + b'"', b'"' + text + b'"', 1)
            both(wire, other)
            both(wire, other.replace(b'Z"', b'.123Z"', 1) if name in (b"issuedAt", b"timestamp") else record + other)


def test_more_wrong_items_than_are_remembered() -> None:
    """Refusals that are alike are judged once: not where there is more to say than there is room for."""
    message = json.loads(next(record for record in RECORDS["sstp"] if record.startswith(b'{"header"')))
    lines = []
    for number in (1, 2, 15, 16, 17, 18, 40):
        for good in (0, 1, number - 1):
            message["header"]["policy_labels"] = ["a"] * good + [1] * number + ["b"] * good
            lines += [json.dumps(message).encode()] * 2
    found = both("sstp", b"\n".join(lines))
    assert found.bad == len(lines)


def test_a_channel_with_an_escape_anywhere() -> None:
    record = next(record for record in RECORDS["kick"] if b"command/dispatch" in record)
    for place in range(len("command/dispatch")):
        text = "command/dispatch"
        for size in (1, 2, 16):
            escaped = "".join(f"\\u{ord(letter):04x}" for letter in text[place : place + size])
            channel = (text[:place] + escaped + text[place + size :]).encode()
            for written in (channel, channel.replace(b"/", b"\\/")):
                both("kick", record.replace(b"command/dispatch", written))
