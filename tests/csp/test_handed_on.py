"""What is handed on whole: the attributes of a copy, the fields that make two blocks equal, the places of references,
each attribute of a checkpoint in a proof, and cuts however the bytes come."""

from __future__ import annotations

import pytest

from tests.csp.test_bulk import carried
from turnwire import csp
from turnwire.csp import _codec_py as pure
from turnwire.csp.cuts import safe_cuts
from turnwire.csp.history import VersionedMap
from turnwire.csp.messages import plain
from turnwire.csp.search import listed
from turnwire.errors import DecodeError


@pytest.mark.parametrize("mode", [False, True])
def test_a_template_in_its_other_form_has_the_same_head(mode):
    template = csp.Template(["!prose", "!extra"], ["TASK REQ:x IN:y", "free text"], mode=mode, line=7)
    for other in (template.expand(), template.compact(), template.expand().compact()):
        assert (other.flags, other.mode, other.line) == (template.flags, mode, 7)
        assert other.flags is not template.flags


@pytest.mark.parametrize("key", ["FROM", "TO", "CTX", "INTENT", "BLOCK", "ID", "OP"])
def test_a_free_key_takes_the_place_of_nothing_else_in_plain_values(key):
    """A block of free keys may have one that is a word of the header, or of the values around its fields."""
    said = {"from": "A", "to": "B", "ctx": "C0", "intent": "MEM", "block": "MEM", "id": "M1"}
    text = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT MEM\n\nMEM M1\nTEXT x\n"
    assert plain(csp.decode(text)) == said | {"text": "x"}
    assert plain(csp.decode(f"{text}{key} y\n")) == said | {"fields": [["TEXT", "x"], [key, "y"]]}


@pytest.mark.parametrize(
    ("make", "free"),
    [
        (lambda fields: csp.Task("T1", fields), True),
        (lambda fields: csp.Result("T1", fields), True),
        (lambda fields: csp.Error("E1", fields), True),
        (lambda fields: csp.FileOp("F1", "CREATE", fields), True),
        (lambda fields: csp.Generic("MEM", "T1", fields), False),
        (lambda fields: csp.Generic("PLAN", "T1", fields), False),
        (lambda fields: csp.Generic("QUERY", "T1", fields), False),
    ],
)
def test_the_order_of_fields_counts_where_keys_are_free(make, free):
    """Known keys may be in any order on the wire; in a block of free keys the order is a part of what is said."""
    fields = [("A", "1"), ("B", "2"), ("B", "3")]
    assert make(fields) == make(list(fields))
    assert (make(fields) == make(fields[::-1])) is free
    assert make(fields) != make(fields[:2]) and make(fields) != make([*fields[:2], ("B", "4")])
    assert make(fields) != csp.Task("T2", fields) and make(fields) != csp.Generic("MEM", "T2", fields)


@pytest.mark.parametrize("before", ["", "a:1;", "é:1;", "é;\U0001f642;", ";;é:1-2;"])
def test_the_place_of_a_reference_counts_bytes(before):
    with pytest.raises(DecodeError) as caught:
        csp.refs(f"{before}b:9-3;c:1")
    assert (caught.value.offset, caught.value.reason) == (len(before.encode()), "bad_range")


CHANGED = {
    "id": "C9",
    "parent": "C9",
    "patch": "P9",
    "digest": "0" * 64,
    "seq": 9,
    "whole": "0" * 64,
    "defs": VersionedMap({"A": "other"}),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_proof_tells_every_attribute_of_a_checkpoint_that_was_changed(name):
    store = csp.Store({"A": "1"})
    for number in (1, 2):
        block = csp.Patch(f"P{number}", f"C{number - 1}", [("~", "A", f"v{number}")], f"C{number}")
        store.apply(csp.message("A", "B", f"C{number - 1}", block))
    assert store.verify()
    for place in ("C1", "C2"):
        kept = store._checkpoints[place]
        store._checkpoints["C9" if name == "id" else place] = kept._replace(**{name: CHANGED[name]})
        assert not store.verify()
        store._checkpoints.pop("C9", None)
        store._checkpoints[place] = kept
    assert store.verify()


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


FOUND = [
    ("```\n{}```\n", None),
    ("~~~\n{}~~~\n", None),
    ("DEF A = 1\n\n{}", "preamble"),
    ("some text\n\n{}", "junk"),
    ("CSP/1;!prose\nTASK REQ:x\n\n{}", "template"),
]


@pytest.mark.parametrize(("front", "kind"), FOUND)
def test_a_list_of_records_leaves_out_fences_alone(front, kind):
    text = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT MEM\n\nMEM M1\nA b\n"
    found = list(listed(front.format(text).encode()))
    others = [one for _, one in found if not isinstance(one, csp.CspMessage)]
    assert len(found) - len(others) == 1
    assert [error.text for error in others] == ([f"this is a {kind}, no message"] if kind else [])
    assert [line for line, _ in found] == sorted({1 if kind else 2, front[: front.index("{")].count("\n") + 1})


def test_what_is_carried_on_is_of_what_was_taken(csp_core):
    """A line that ends what was open, in a message that is not whole yet, is told with that message."""
    front = b"DEF A = 1\nCSP/1;!x\nTASK REQ:x\n\n"
    message = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT MEM\n\nMEM M1\nA\n<<<\nx\n>>>\n"
    for data in (
        message * 2,
        b"text\n" + message,
        front + message,
        b"```\n" + message + b"```\n",
        message[:-4] + message,
    ):
        for size in range(len(data) + 1):
            assert carried(csp_core, data, size) == carried(pure, data, size), data[:size]
    _, position, _, state = carried(csp_core, b"text\n" + message, 40)
    assert (position, state[3]) == (5, 0)


@pytest.mark.parametrize("size", [1, 2, 255, 256, 257, 300])
def test_the_flags_of_a_template_in_a_log_have_256_bytes_at_most(size, csp_core):
    data = b"CSP/1;" + b"x" * size + b"\nTASK REQ:x\n\n" + b"text\n" * 80  # so many that nothing more is asked for
    (rows, _), _, _, _ = carried(csp_core, data, len(data))
    assert rows == (size <= 256)
