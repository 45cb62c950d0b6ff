"""Definitions of templates as text: JSON with few quotes and commas, in which the names of members may end in a mark.

``{act:ASK turn+:1 goal_id=conv_id text?:"a question"}`` is ``{"act":"ASK","turn+":1,"goal_id=conv_id":null,...}``: it
takes a third fewer tokens. ``a={act:ASK}`` is an event and the template that later rows go by; ``b=a{act:INFORM}`` says
what differs from it. JSON itself is read, too. What a definition says is a draft: its members in order, where
a node may also be a leaf, None for one that is left out, or the number of a leaf of the template that it changes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from turnwire.session.shapes import ARRAY, STYLES, Leaf, Member, Structure, is_objects, leaf_of, parsed, quoted

REMOVED = "-"
"""The mark of a member that a template does not have where that which it is derived from has it."""
_OTHER = "\u00a1-\u2027\u202a-\U0010ffff"
_LETTERS = rf"A-Za-z0-9_.@/?+~^=$#!&*<>;|()%'{_OTHER}\-"
_TOKEN = re.compile(rf'"(?:[^"\\]|\\.)*"|:[{_LETTERS}][{_LETTERS}:]*|[{_LETTERS}]+|[{{}}\[\],: ]', re.DOTALL).findall
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.@/-]*[A-Za-z0-9_.@/?+~^=$#!-]*", re.ASCII).fullmatch
_WORD = re.compile(rf"[A-Za-z0-9&+{_OTHER}][A-Za-z0-9_.@/&=:{_OTHER}-]*").fullmatch
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null", re.ASCII).fullmatch
_MARK = r"[?+~^-]|\$[0-9]?|=[^=!]*|#[^#!]*"
_MARKED = re.compile(rf"(.*?)({_MARK})", re.DOTALL).fullmatch
_ESCAPED = re.compile(rf"(.*)!({_MARK}|)", re.DOTALL).fullmatch
_NO_WORDS = ("", '"', ":", "{", "}", "[", "]", ",", " ")
_LITERALS = frozenset(["true", "false", "null"])
ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
"""Characters that a reader might take for the end of a line, or lose."""


def one_line(text: str) -> str:
    """JSON text in which no character is left that a reader might take for the end of a line."""
    return ODD.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def cut(key: str) -> tuple[str, str]:
    """The name and the mark of a key in a definition."""
    found = (_ESCAPED if "!" in key else _MARKED)(key)
    return (key, "") if found is None else (found[1], found[2])


def key_of(name: str, mark: str) -> str:
    """A name and its mark as they are written."""
    key = name + mark
    if "!" in key or cut(key) != (name, mark):
        key = f"{name}!{mark}"
    return key if _KEY(key) else quoted(key)


def told(leaf: Leaf, mark: str) -> str:
    """A leaf as a definition tells it, line feeds as they are."""
    if type(leaf) is bytes:
        text = leaf.decode()
        return '"&!null"' if mark and text == "null" else one_line(text)
    assert type(leaf) is str
    value, begin = leaf, ""
    if mark == "~" and value[:1] in ("+", "-"):
        value, begin = quoted(value), "&!"
    elif value[:1] == "&":
        begin = "&"
    word = begin + "\n".join([one_line(quoted(line))[1:-1] for line in value.split("\n")])
    return word if _WORD(word) and not _SCALAR(word) else f'"{word}"'


def written(structure: Structure, leaves: Sequence[tuple[str, str]], used: set[str]) -> str:
    """The text of a definition. leaves: of each the mark, and the value as ``told`` gives it; ``null`` where that is
    left out. used: the first letters of its marks are added."""
    parts = []
    for name, mark, node in structure:
        if type(node) is int:
            own, text = leaves[node]
            mark = mark or own
        elif mark == ARRAY:
            text, mark = "[" + ",".join([written(item, leaves, used) for _, _, item in node]) + "]", ""
        else:
            text = written(node, leaves, used)
        key = key_of(name, mark)
        used.update(mark[:1])
        if mark and text == "null":
            parts.append(key)
            continue
        first = text[0]  # two words have a space between them, where the first one has no mark
        word = "a" <= first <= "z" or "A" <= first <= "Z" or first > "\u00a0"
        space = word and not mark and key[0] != '"' and ":" not in text and text not in _LITERALS
        parts.append(f"{key} {text}" if space else f"{key}:{text}")
    return "{" + " ".join(parts) + "}"


def structure_of(draft: Sequence[Member], leaves: list[tuple[Any, str]], marks: Sequence[str] = ()) -> Structure:
    """The structure of a draft. The node and the mark of each of its leaves are added, in order. marks: of the leaves
    of the template that the draft is of.

    Raises ValueError for what no structure has.
    """
    found: list[Member] = []
    for name, mark, node in draft:
        if type(node) in (list, tuple):
            found.append(Member(name, mark, structure_of(node, leaves, marks)))
            continue
        if type(node) is int:
            mark = mark or marks[node]
        if mark == REMOVED:
            raise ValueError("a member to be removed is missing")
        is_table = mark[:1] == "#"
        if is_table and len(set(columns := mark[1:].split(","))) < len(columns):
            raise ValueError("a key appears twice")
        found.append(Member(name, mark if is_table else "", len(leaves)))
        leaves.append((node, "?" if is_table else mark))
    return tuple(found)


def read(text: str) -> list[Member]:
    """The draft of a definition. Raises ValueError, RecursionError."""
    tokens = _TOKEN(text)
    if sum(map(len, tokens)) != len(text):
        raise ValueError("a definition contains a character that is not allowed here")
    try:
        members = parsed(_json(tokens))
    except json.JSONDecodeError as error:  # its place is one in the JSON text
        raise ValueError(f"a definition lacks a key or a value: {error.msg}") from None
    if type(members) is not dict:
        raise ValueError("a definition must be an object")
    return _draft(members)


def _json(tokens: Sequence[str]) -> str:
    """The JSON text of a definition. Where it lacks something, so does that. Raises ValueError for other brackets."""
    parts, opened = [""], [""]  # opened: the brackets around a token
    key = ""  # the token before, where it is the key of a member
    for token, following in pairwise([*tokens, ""]):
        before, key = key, ""
        if token == " ":  # between two words it is a colon, where the first has no mark
            are_words = before[:1] not in _NO_WORDS and following[:1] not in _NO_WORDS
            token = ":" if are_words and not cut(before)[1] else ","
        if before and token in (",", "}"):
            parts.append(":null")
        if token in ("{", "["):
            opened.append(token)
        elif token in ("}", "]"):
            if opened.pop() + token not in ("{}", "[]"):
                raise ValueError("brackets do not match")
        elif token not in (":", ","):
            if token[0] == ":":
                parts.append(":")
                token = token[1:]
            elif opened[-1] == "{" and parts[-1] in ("{", ","):
                key = token
            if token[0] == '"':
                token = token.replace("\n", "\\n")
            elif key or not _SCALAR(token):
                token = f'"{token}"'
        parts.append(token)
    return "".join(parts)


def _draft(members: dict[str, Any]) -> list[Member]:
    found = {}
    for key, value in members.items():
        name, mark = cut(key)
        if name in found:
            raise ValueError("a member appears twice")
        node: Any = None
        if type(value) is dict and value and mark[:1] in ("", "$"):
            if int(mark[1:] or 0) >= len(STYLES):
                raise ValueError(f"there is no style {mark[1:]} of JSON in a string")
            node, mark = _draft(value), mark.removesuffix("0")
        elif mark[:1] == "$":
            raise ValueError("a member marked as JSON in a string must be an object")
        elif not mark and is_objects(value):
            node = [Member(str(number), "", _draft(each)) for number, each in enumerate(value)]
            mark = ARRAY
        elif not mark or value is not None:
            node = leaf_of(value)
        found[name] = Member(name, mark, node)
    return list(found.values())


def merged(base: Sequence[Member], changes: Sequence[Member]) -> list[Member]:
    """The draft that changes make of a base: members replaced, removed, added; objects derived in turn.

    A new member goes where the one before it was removed or added, else at the end. Raises ValueError if a member
    that is removed is not there.
    """
    places = {member.name: number for number, member in enumerate(base)}
    found: list[list[Member]] = [*([member] for member in base), []]
    spot = len(base)
    for change in changes:
        at = places.get(change.name)
        if at is None:
            if change.mark == REMOVED:
                raise ValueError("a member to be removed is missing")
            found[spot].append(change)
            continue
        spot = len(base)
        if change.mark == REMOVED:
            found[at], spot = found[at][1:], at
        elif all(type(each.node) in (list, tuple) and each.mark != ARRAY for each in (base[at], change)):
            found[at][0] = Member(change.name, change.mark or base[at].mark, merged(base[at].node, change.node))
        else:
            found[at][0] = change
    return [member for members in found for member in members]
