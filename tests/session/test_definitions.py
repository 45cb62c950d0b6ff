"""Definitions of templates: their notation, and templates derived from others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conftest import raised
from turnwire import session
from turnwire.errors import DecodeError, Reason
from turnwire.session.notation import cut, key_of, read

pytestmark = pytest.mark.once


def event(*definitions: str) -> Any:
    """The event of the last definition."""
    return session.decode("\n".join(["%1", *definitions, ""]), strict=False, sealed=False)[-1]


REFUSED = [
    *("{a:1 }", "{ a:1}", "{a:1  b:2}", "{a:1,}", "{a:1 b", "{a:}", "{a::1}", "{:1}", "{a:1}}", "{a: 1}", "{a :1}"),
    *("{a:[1}", "{a:1]", "{[a]:1}", '{a"b":1}', '{a:"x"y}', "{a:[:1]}", '{a:"\\x"}', '{a:"\x01"}', '{a:"x}'),
    *("{a\u2028:1}", "{a:1}{b:2}", "{a:`x`}", "{a:\\}"),
]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{a:1 b+:x}", {"a": 1, "b": "x"}),
        ('{a:"x y\n z" b?:null}', None),
        ('{"a":-1.5,"b":null,"c":[]}', {"a": -1.5, "b": None, "c": []}),
        ("{act ASK b word}", {"act": "ASK", "b": "word"}),
        ("{act:ASK,b}", {"act": "ASK", "b": None}),
        ("{a b}", {"a": "b"}),
        ("{a,b}", {"a": None, "b": None}),
        ('{a "x"}', {"a": None, "x": None}),  # a string needs its colon
        ("{a? x}", None),  # so does what stands behind a mark
        ("{a b:1}", None),
        ("{a {b:1}}", None),
        ("{a:{b:1} c:[{d:1} {e?:2}]}", {"a": {"b": 1}, "c": [{"d": 1}, {"e": 2}]}),
        ("{a?:{b?:1}}", {"a": {"b?": 1}}),  # names in a value have no marks
        ('{a:[1 x,"y z" [true {b:1}]]}', {"a": [1, "x", "y z", [True, {"b": 1}]]}),
        ("{a$:{b:1} c$4:{d x}}", {"a": '{"b":1}', "c": '{\n  "d": "x"\n}'}),
        ("{a$0:{b:1} c$1:{d:[{e:1}]}}", {"a": '{"b":1}', "c": '{"d": [{"e": 1}]}'}),
        ("{a$:1}", None),
        ("{a$:{}}", None),
        ("{a$5:{b:1}}", None),
        ("{at:12:30 u:⫻x/y:z v:89e w:1e5x x:007}", {"at": "12:30", "u": "⫻x/y:z", "v": "89e", "w": "1e5x", "x": "007"}),
        ("{a:1e5 b:-0 c:true d:false e:null}", {"a": 1e5, "b": -0.0, "c": True, "d": False, "e": None}),
        ('{"a?!":1 "b!!+":2 "c!?":3 "=x!":4 !:5}', {"a?": 1, "b!": 2, "c": 3, "=x": 4, "": 5}),
        ('{a?:"&!null" b?:"&&x" c:"&!\\"-2x\\"" d~:"&!\\"-2x\\""}', {"a": None, "b": "&x", "c": "-2x", "d": "-2x"}),
        ('{a:"&x"}', None),
        ("{a~:+5}", None),
        ("{a-:1}", None),
        ('{"a#k,v":[[1,2],[3,4]]}', {"a": [{"k": 1, "v": 2}, {"k": 3, "v": 4}]}),
        ('{"a#k,k":[[1,2],[3,4]]}', None),
        ("{}", {}),
        *((text, None) for text in REFUSED),
        *((f"{{{each}}}", None) for each in ("a:1 a:2", "a:1 a?:2", "a?:1 a+:2", "a$:{b:1} a:1", "b:1 a?:2 c:1 a:1")),
        *((f"{{k:{{{each}}}}}", None) for each in ("a:1 a:2", "a:1 a?:2", "a:{b:1} a:2")),
        ('{k?:{"a":1 a:2}}', None),
    ],
)
def test_notation(text: str, value: Any) -> None:
    """None: it is refused."""
    if value is None:
        caught = raised(DecodeError, event, f"={text}")
        assert (caught.reason, caught.line) == (Reason.BAD_ENCODING, 2)
    else:
        assert json.dumps(event(f"={text}")) == json.dumps(value)


def test_letters_of_words() -> None:
    """Which ones a word may have, of all that there are up to U+3100."""
    for number in (*range(1, 0x3100), 0xFEFF, 0xFFFD, 0x1F600):
        letter = chr(number)
        may_be = letter in "_.@/?+~^=$#!&*<>;|()%'-" or (letter.isascii() and letter.isalnum())
        may_be |= number >= 0xA1 and number not in (0x2028, 0x2029)
        try:
            found = read(f"{{k:a{letter}b}}")[0].node == f"a{letter}b"
        except ValueError:
            found = False
        assert found is (may_be or letter == ":"), hex(number)


@pytest.mark.parametrize("name", ["a", "", "a?", "a!", "!", "a=b=c", "$1", "a#b", "-", "a.b", "é", "a b", "=", "a!!"])
def test_a_name_and_its_mark_are_told_apart(name: str) -> None:
    for mark in ("", "?", "+", "~", "^", "-", "$", "$4", "=", "=a.b", "#k,v"):
        key = key_of(name, mark)
        assert cut(json.loads(key) if key[0] == '"' else key) == (name, mark)


@pytest.mark.parametrize(
    ("base", "changed", "value"),
    [
        ("{a:1 b:2}", "{b:3}", {"a": 1, "b": 3}),
        ("{a:1 b:2}", "{}", {"a": 1, "b": 2}),
        ("{a:1 b:2 c:3}", "{b- d:4}", {"a": 1, "d": 4, "c": 3}),
        ("{a:1 b:2 c:3}", "{d:4 b- e:5 f:6}", {"a": 1, "e": 5, "f": 6, "c": 3, "d": 4}),
        ("{a:{b:1 c:2} d:3}", "{a:{c- e:4}}", {"a": {"b": 1, "e": 4}, "d": 3}),
        ("{a$:{b:1} c:2}", "{a:{b:5}}", {"a": '{"b":5}', "c": 2}),
        ("{a:[{b:1}] c:2}", "{a:[{d:1}]}", {"a": [{"d": 1}], "c": 2}),
        ("{a+:1 b?:x}", "{c:3}", {"a": 2, "b": "x", "c": 3}),
        ("{a:1}", "{b-}", None),
        ("{a:{b:1}}", "{a:{c-}}", None),
    ],
)
def test_a_definition_that_changes_another(base: str, changed: str, value: Any) -> None:
    if value is None:
        with pytest.raises(DecodeError):
            event(f"a={base}", f"=a{changed}")
    else:
        assert json.dumps(event(f"a={base}", f"=a{changed}")) == json.dumps(value)
    with pytest.raises(DecodeError):
        event(f"=z{changed}")


def test_a_name_that_is_empty_has_a_path_like_any_other() -> None:
    text = '%1\n{"":{"k":"one"},"k":"two"}\na={"":{k=.k} b=k}\n.2\n'
    assert session.decode(text, sealed=False)[1] == {"": {"k": "one"}, "b": "two"}
