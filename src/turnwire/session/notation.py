"""The notation of definitions: JSON with spaces between members, and quotes only where they are needed.

``{act:ASK turn+:1 goal_id=conv_id text?:"a question"}`` is ``{"act":"ASK","turn+":1,"goal_id=conv_id":null,...}``: it
takes a third fewer tokens. JSON itself is read, too.
"""

from __future__ import annotations

import re

from turnwire.session._values_py import quoted

_OTHER = "\u00a1-\u2027\u202a-\U0010ffff"
_LETTERS = rf"A-Za-z0-9_.@/?+~^=$#!&*<>;|()%'{_OTHER}\-"
_TOKEN = re.compile(rf'"(?:[^"\\]|\\.)*"|:[{_LETTERS}][{_LETTERS}:]*|[{_LETTERS}]+|[{{}}\[\],: ]', re.DOTALL)
_TOKENS = _TOKEN.findall
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.@/-]*[A-Za-z0-9_.@/?+~^=$#!-]*", re.ASCII).fullmatch
_WORD = re.compile(rf"[A-Za-z0-9&+{_OTHER}][A-Za-z0-9_.@/&=:{_OTHER}-]*").fullmatch
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null", re.ASCII).fullmatch
_MARK = r"[?+~^-]|\$[0-9]?|=[^=!]*|#[^#!]*"
_MARKED = re.compile(rf"(.*?)({_MARK})", re.DOTALL).fullmatch
_ESCAPED = re.compile(rf"(.*)!({_MARK}|)", re.DOTALL).fullmatch


def cut(key: str) -> tuple[str, str]:
    """The name and the mark of a key in a definition."""
    found = (_ESCAPED if "!" in key else _MARKED)(key)
    if found is None:
        return key, ""
    return found[1], found[2]


def marked(name: str, mark: str) -> str:
    """The key of a name and a mark."""
    key = name + mark
    return key if "!" not in key and cut(key) == (name, mark) else f"{name}!{mark}"


def key(name: str) -> str:
    """A key as it is written."""
    return name if _KEY(name) else quoted(name)


def value(text: str) -> str:
    """The JSON text of a value as it is written."""
    if text[:1] == '"' and _WORD(text[1:-1]) and not _SCALAR(text[1:-1]):
        return text[1:-1]
    return text


def to_json(text: str) -> str:
    """The JSON text of a definition. Raises ValueError for what is none; what is left, a JSON reader refuses."""
    tokens = _TOKENS(text)
    right = sum(map(len, tokens)) == len(text)
    if not right:
        tokens = _before_fault(text)
    found: list[str] = []
    open_: list[str] = []
    in_key = False
    for at, token in enumerate(tokens):
        first = token[0]
        if first in " ,":
            if first == " " and in_key and _takes(tokens, at):
                first = token = ":"
            else:
                token = ","
            in_key = token == "," and open_[-1:] == ["{"]
        elif first == ":":
            in_key = False
            token = ":" + _valued(token[1:])
        elif first in "{[":
            open_.append(token)
            in_key = token == "{"
        elif first in "}]":
            if not open_ or (open_.pop() == "{") != (token == "}"):
                raise ValueError("brackets do not match")
            in_key = False
        elif in_key:
            token = token if first == '"' else quoted(token)
            following = tokens[at + 1] if at + 1 < len(tokens) else ""
            if following[:1] != ":" and not (following == " " and _takes(tokens, at + 1)):
                token += ":null"
        else:
            token = _valued(token)
        found.append(token)
    if not right:
        raise ValueError(f"a definition holds {text[sum(map(len, tokens))]!r} where it is not allowed")
    return "".join(found)


def _takes(tokens: list[str], at: int) -> bool:
    """Whether a space is between a key and its value: a word without a mark, and a word."""
    before, after = tokens[at - 1], tokens[at + 1] if at + 1 < len(tokens) else ""
    return _bare(before) and _bare(after) and cut(before)[1] == ""


def _bare(token: str) -> bool:
    return token[:1] not in ("", '"', ":", " ", ",", "{", "}", "[", "]")


def _valued(token: str) -> str:
    """A value as JSON has it."""
    return token if not token or token[0] == '"' or _SCALAR(token) else quoted(token)


def _before_fault(text: str) -> list[str]:
    """The tokens before the first character that begins none."""
    found, at = [], 0
    while (match := _TOKEN.match(text, at)) is not None:
        found.append(match[0])
        at = match.end()
    return found
