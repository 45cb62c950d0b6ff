"""Definitions of templates: their notation, and what one changes of another."""

from __future__ import annotations

import json
import random
from itertools import count
from typing import Any

import pytest

from turnwire import session
from turnwire.errors import DecodeError, Reason
from turnwire.session.notation import Member, changes, cut, key_of, merged, read, written
from turnwire.session.shapes import ARRAY

pytestmark = pytest.mark.once

Chance = random.Random


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
        with pytest.raises(DecodeError) as caught:
            event(f"={text}")
        assert (caught.value.reason, caught.value.line) == (Reason.BAD_ENCODING, 2)
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


NAMES = ("a", "b", "c", "d", "e f", "é")
MARKS = ("", "", "", "?", "~", "=id", "$")


def draft(chance: Chance, leaves: Any, depth: int = 2) -> list[Member]:
    """A draft, whose leaves are numbered on."""
    found = []
    for name in chance.sample(NAMES, chance.randrange(1 if depth < 2 else 0, 5)):
        kind, mark = chance.random(), chance.choice(MARKS)
        if depth and kind < 0.2:
            found.append(Member(name, mark, draft(chance, leaves, depth - 1)))
        elif depth and kind < 0.4:
            found.append(array(name, *[draft(chance, leaves, depth - 1) for _ in range(chance.randrange(1, 4))]))
        else:
            found.append(Member(name, mark, next(leaves)))
    return found


def array(name: str, *items: Any) -> Member:
    """A member that is an array of objects."""
    return Member(name, ARRAY, [Member(str(number), "", item) for number, item in enumerate(items)])


def again(chance: Chance, node: Any, leaves: Any) -> Any:
    """A draft that is much like another: now and then a member goes, comes, moves, or is another one."""
    if not isinstance(node, list):
        return next(leaves)
    found = [
        again_array(chance, one, leaves)
        if one.mark == ARRAY
        else Member(one.name, one.mark, again(chance, one.node, leaves))
        for one in node
    ]
    for _ in range(chance.choice((0, 0, 0, 1, 2, 3))):
        change, at = chance.randrange(4), chance.randrange(len(found) + 1)
        free = [name for name in NAMES if name not in {one.name for one in found}]
        if change == 0 and free:
            found.insert(at, Member(chance.choice(free), chance.choice(MARKS), next(leaves)))
        elif found and change == 1:
            del found[at - 1]
        elif found and change == 2:
            found.insert(at - 1, found.pop(chance.randrange(len(found))))
        elif found and found[at - 1].mark != ARRAY:
            found[at - 1] = found[at - 1]._replace(mark=chance.choice(MARKS))
    return found


def again_array(chance: Chance, member: Member, leaves: Any) -> Member:
    items = [again(chance, item.node, leaves) for item in member.node]
    return array(member.name, *items[: chance.choice((None, None, None, 1))])


def named(node: Any) -> Any:
    """A draft without the numbers of its leaves."""
    return [(one.name, one.mark, named(one.node)) for one in node] if isinstance(node, list) else None


@pytest.mark.parametrize("seed", range(4))
def test_what_makes_one_of_another(seed: int) -> None:
    chance, told, unsaid = random.Random(seed), 0, 0
    for _ in range(150):
        leaves = count()
        base = draft(chance, count())
        target = again(chance, base, leaves)
        same = [number if chance.random() < 0.7 else -1 for number in range(next(leaves))]
        found = changes(base, target, same)
        if found is None:
            unsaid += 1
        else:
            told += 1
            assert named(merged(base, found)) == named(target)
    assert told > 50 and unsaid > 5


def test_arrays_are_told_whole_and_what_goes_makes_room_for_what_comes() -> None:
    items = ([Member("x", "", 1)], [Member("y", "", 2)])
    base = [Member("a", "", 0), array("b", *items), Member("c", "", 3)]
    assert changes(base, base, [0, 1, 2, 3]) == []
    assert changes(base, base, [0, 1, -1, 3]) == [base[1]]
    assert changes(base, base, [-1, 1, 2, 3]) == [base[0]]
    shorter = [base[0], array("b", *items[:1]), base[2]]
    assert changes(base, shorter, [0, 1, 2, 3]) == [shorter[1]]
    other = [base[0], Member("n", "?", 1), base[2]]
    gone = Member("b", "-", None)
    assert changes(base, other, [0, 1, 2, 3]) == [gone, other[1]]
    assert changes(base, base[:1], [0]) == [gone, Member("c", "-", None)]
    assert changes(base, [base[2], base[0]], [0, 1, 2, 3]) is None
    texts = ["1", "null", "word", "é"]
    assert written(base, texts) == "{a:1 b:[{x:null},{y word}] c é}"
    assert written([gone, other[1]], texts) == "{b- n?}"
