"""Messages as objects: the quick ways of both cores against the long way, which tells what is wrong."""

from __future__ import annotations

import copy
import pickle
import random
from itertools import islice

import pytest

from tests import vectors
from tests.conftest import raised, refusal
from tests.csp.generate import document as generated
from turnwire import csp
from turnwire.contract import LIMITS
from turnwire.csp import codec
from turnwire.csp.codec import write
from turnwire.csp.lenient import parse_leniently
from turnwire.errors import DecodeError, EncodeError, Reason

HEAD = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT {}\n\n"
TEXTS = [case["text"] for case in vectors.load("csp_forms") if case["kind"] == "usual"]
"""Good ones, nearly good ones, and some with more or fewer of the parts of a window that are read at once."""
VALUES = [
    *("", "x", "OK", "P1", "C1", "T1", "a\nb", "a\n", "\n", "a\r", "a\rb"),
    *(">>>", ">>>\n>>>>\r\n<", "ö", "\ud800", "CSP/1", None, 7),
]


def read_by(decode, data):
    """The message of a text; why it is refused where there is none."""
    try:
        return shown(decode(data))
    except DecodeError as error:
        return error.reason, error.offset, error.line


def usual(core, data):
    """The message of a text, None where it is refused."""
    try:
        return core.decode(data)
    except DecodeError:
        return None


def written_long(message, strict):
    """The text of a message, or None where it is refused."""
    try:
        text = write(message, strict)
        if strict:
            codec._verify(message, text)
    except EncodeError:
        return None
    return text


def clean_long(message):
    """True if lenient reading and the doubts say nothing of what is written."""
    try:
        text = write(message, strict=False).encode()
    except (EncodeError, UnicodeEncodeError):
        return False
    return not parse_leniently(text, LIMITS).issues and not message.issues and not codec.doubts(message)


def shown(message):
    """All there is to a message; equality leaves out its line, and takes a known block's fields in any order."""
    return repr(message), message.line, message.issues, type(message.block), message.block and message.block.fields


@pytest.mark.parametrize("text", TEXTS)
def test_what_reads_in_one_go_reads_as_the_long_way_does(csp_core, text):
    for data in (text, text.encode(), text.encode() + b"\xff", bytearray(text.encode())):
        assert read_by(csp_core.decode, data) == read_by(codec.decode_closely, data)


def test_what_is_no_text_is_refused(csp_core):
    for data in (None, 7, "\ud800", bytearray(b"CSP/1\n"), ["CSP/1"]):
        assert usual(csp_core, data) is None


def test_one_message_is_read_in_a_mode_that_there_is(csp_core):
    """Also where reading in one go would take it."""
    with pytest.raises(ValueError, match=r"^mode must be strict or lenient, not 'loose'$"):
        csp_core.decode(TEXTS[0], mode="loose")


def test_generated_texts_read_in_one_go_as_the_long_way_reads_them(csp_core):
    for seed in range(120):
        whole = generated(seed, damage=0.2)
        for data in [whole, *(b"CSP/1\n" + part for part in whole.split(b"CSP/1\n")[1:])]:
            assert read_by(csp_core.decode, data) == read_by(codec.decode_closely, data), seed


def random_message(numbers):
    """A message of a program that may have got anything wrong."""

    def value():
        return numbers.choice(VALUES)

    def good(text):
        return value() if numbers.random() < 0.1 else text

    def fields(keys):
        chosen = numbers.sample(keys, numbers.randint(1, len(keys)))
        return [(numbers.choice(keys) if numbers.random() < 0.05 else key, value()) for key in chosen]

    kind, letter, keys = numbers.choice(
        [
            (csp.Task, "T", ["REQ", "IN", "OUT", "OWNER", "PRIORITY"]),
            (csp.Result, "T", ["STATUS", "PRODUCED", "DATA"]),
            (csp.Error, "E", ["AT", "CAUSE", "NEXT"]),
            (csp.FileOp, "F", ["PATH", "BASE", "CONTENT"]),
            (csp.Patch, "P", []),
            (csp.Generic, "M", ["KEY", "IN", "lower", "A B", "", "KEY_2"]),
        ]
    )
    name = good(f"{letter}1")
    block = None
    if kind is csp.FileOp:
        block = kind(name, good("CREATE"), fields(keys))
    elif kind is csp.Patch:
        ops = [(good(numbers.choice("+~-")), good("A_1"), value()) for _ in range(numbers.randint(0, 3))]
        block = kind(name, good("C0"), ops, good("C1"))
    elif kind is csp.Generic:
        block = kind(good(numbers.choice(["PLAN", "QUERY", "MEM", "TASK"])), name, fields(keys))
    elif numbers.random() < 0.98:
        block = kind(name, fields(keys))
        if kind is not csp.Generic and numbers.random() < 0.5:
            required = {"T": "OK" if kind is csp.Result else "x", "E": "T1"}[letter]
            block.fields = [(key, required) for key in keys if key != "PRIORITY"]
    intent = good(next((word for word in csp.Intent if word == getattr(block, "kind", None)), csp.Intent.FILE))
    return csp.CspMessage(good("A"), good("B"), good("C0"), intent, block)


def test_what_is_written_in_one_go_is_what_the_long_way_writes(csp_core):
    numbers = random.Random(7)
    good = 0
    for _ in range(600):
        message = random_message(numbers)
        for strict in (True, False):
            expected = written_long(message, strict)
            refused = refusal(EncodeError, csp_core.encode, message, strict)
            assert (None if refused else csp_core.encode(message, strict)) == expected, message
            good += strict and expected is not None
        assert (not csp_core.check(message)) == clean_long(message), message
    assert good > 60


def test_messages_that_were_changed_are_judged_anew(csp_core):
    message = csp.decode(TEXTS[0])
    assert csp.check(message) == []
    message.block.fields.append(("STATUS", "OK"))
    assert raised(EncodeError, csp.encode, message).reason == Reason.UNKNOWN_KEY
    assert [found.reason for found in csp.check(message)] != []
    message.block.fields = [("REQ", "y"), ("PRIORITY", "P2"), ("IN", "z")]
    assert csp.encode(message).endswith("REQ y\nIN z\nPRIORITY P2\n")
    assert csp.encode(message, strict=False).endswith("REQ y\nPRIORITY P2\nIN z\n")
    del message.sender
    raised(AttributeError, csp.encode, message)


def changes_of(message):
    """Ways to change a message that was read, each a function that does it: every attribute, the block's, its lists."""
    block = message.block
    for owner in (message, block):
        names = {name for cls in type(owner).__mro__ for name in getattr(cls, "__slots__", ()) if name[0] != "_"}
        for name in sorted(names - {"line", "issues"}):
            for value in (*VALUES, csp.Intent.ERROR, [], csp.Task("T9", {"REQ": "z"}), csp.Patch("P9", "C0", [], "C1")):
                yield lambda owner=owner, name=name, value=value: setattr(owner, name, value)
            yield lambda owner=owner, name=name: delattr(owner, name)
    parts = block.ops if isinstance(block, csp.Patch) else block.fields
    yield parts.clear
    yield parts.reverse
    yield lambda: parts.append(("REQ", "x"))
    yield lambda: parts.extend(parts[:1])
    for place in range(len(parts)):
        yield lambda place=place: parts.pop(place)
        for part in (("REQ", "é"), ("STATUS", "LATER"), csp.Op("-", "A"), ("x",), (*parts[place][:-1], "new"), None):
            yield lambda place=place, part=part: parts.__setitem__(place, part)
    if not isinstance(block, csp.Patch | csp.FileOp | csp.Generic):
        yield lambda: setattr(block, "__class__", csp.Error if isinstance(block, csp.Result) else csp.Result)


def says(call, message):
    """The result of a function for a message, or why it refuses it."""
    try:
        return call(message)
    except (EncodeError, AttributeError, TypeError, ValueError, IndexError) as error:
        return type(error), getattr(error, "reason", None), getattr(error, "path", None)


CHANGED = [
    text for text in TEXTS if len(text) < 500 and text.count("\n") > 6 and text.count("\r\n") in (0, text.count("\n"))
]


@pytest.mark.parametrize("number", range(len(CHANGED)))
def test_whatever_is_changed_in_a_message_that_was_read_is_written_and_judged(csp_core, number):
    """A message that was read is written as one that was made of the same values is, whatever was done to it."""
    data = CHANGED[number].encode()
    first = usual(csp_core, data)
    for place in range(0 if first is None or csp_core.__name__.endswith("_py") else sum(1 for _ in changes_of(first))):
        read, built = usual(csp_core, data), usual(csp_core, data).replace()
        for message in (read, built):
            next(islice(changes_of(message), place, None))()
        for call in (csp.encode, lambda one: csp.encode(one, strict=False), csp.check):
            assert says(call, read) == says(call, built), (place, read)


def test_a_message_that_nobody_changed_is_written_as_it_was_read(csp_core):
    """Only if the text is what writing gives; whatever the message is read from."""
    for seed in range(60):
        for part in generated(seed, damage=0.1).split(b"CSP/1\n")[1:]:
            data = b"CSP/1\n" + part
            message = usual(csp_core, data)
            if message is None or message.issues:
                continue
            built = message.replace()
            for strict in (True, False):
                assert csp.encode(message, strict) == csp.encode(built, strict)
            assert csp.check(message) == csp.check(built)
            again = usual(csp_core, csp.encode(message))
            assert csp.encode(again) == csp.encode(message) and csp.check(again) == csp.check(built)
            for copied in (copy.copy(again), copy.deepcopy(again), pickle.loads(pickle.dumps(again))):
                assert copied == again and csp.encode(copied) == csp.encode(again)
                copied.sender = "X"
                assert "FROM X\n" in csp.encode(copied)
    spaced = usual(csp_core, HEAD.format("PLAN") + "PLAN L1\nSTEP \n")
    assert csp.encode(spaced).endswith("STEP\n") and csp.encode(spaced, strict=False).endswith("STEP\n")


def test_subclasses_are_written_by_what_they_say(csp_core):
    class Mine(csp.CspMessage):
        __slots__ = ()

        @property
        def sender(self):
            return "MINE"

        @sender.setter
        def sender(self, value):
            pass

    message = Mine("A", "B", "C0", csp.Intent.TASK, csp.Task("T1", {"REQ": "x"}))
    assert csp_core.encode(message).startswith("CSP/1\nFROM MINE\n")
