"""The notation of definitions: JSON with spaces between members, and quotes only where they are needed.

``{act:ASK turn+:1 goal_id=conv_id text?:"a question"}`` is ``{"act":"ASK","turn+":1,"goal_id=conv_id":null,...}``: it
takes a third fewer tokens. JSON itself is read, too.
"""

from __future__ import annotations

import re

from turnwire._pure.session.values import quoted

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[A-Za-z0-9_.@/?+~^=$#!&*<>;|()%\'-]+|[{}\[\],: ]', re.DOTALL)
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.@/-]*[A-Za-z0-9_.@/?+~^=$#!-]*", re.ASCII).fullmatch
_WORD = re.compile(r"[A-Za-z&+][A-Za-z0-9_.@/&=-]*", re.ASCII).fullmatch
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null", re.ASCII).fullmatch
_WORDS = frozenset(("true", "false", "null"))


def key(name: str) -> str:
    """A key as it is written."""
    return name if _KEY(name) else quoted(name)


def value(text: str) -> str:
    """The JSON text of a value as it is written."""
    if text[:1] == '"' and _WORD(text[1:-1]) and text[1:-1] not in _WORDS:
        return text[1:-1]
    return text


def to_json(text: str) -> str:
    """The JSON text of a definition. Raises ValueError for what is none; what is left, a JSON reader refuses."""
    found: list[str] = []
    open_: list[str] = []
    at, size, in_key = 0, len(text), False
    while at < size:
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"a definition holds {text[at]!r} where it is not allowed")
        token, at = match[0], match.end()
        if token in ("{", "["):
            open_.append(token)
            in_key = token == "{"
        elif token in ("}", "]"):
            if not open_ or (open_.pop() == "{") != (token == "}"):
                raise ValueError("brackets do not match")
            in_key = False
        elif token in (" ", ","):
            token, in_key = ",", open_[-1:] == ["{"]
        elif token == ":":
            in_key = False
        elif in_key:
            token = token if token[0] == '"' else quoted(token)
            if text[at : at + 1] != ":":
                token += ":null"
        elif token[0] != '"' and not _SCALAR(token):
            token = quoted(token)
        found.append(token)
    return "".join(found)
