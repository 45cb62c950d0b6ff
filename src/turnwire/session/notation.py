"""The notation of definitions: JSON with spaces between members, and quotes only where they are needed.

``{act:ASK turn+:1 goal_id=conv_id text?:"a question"}`` is ``{"act":"ASK","turn+":1,"goal_id=conv_id":null,...}``: it
takes a third fewer tokens. JSON itself is read, too.
"""

from __future__ import annotations

import re

from turnwire._pure.session.values import quoted

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[A-Za-z0-9_.@/?+~^=$#!&*<>;|()%\'-]+|[{}\[\],: ]', re.DOTALL)
_TOKENS = _TOKEN.findall
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
    tokens = _TOKENS(text)
    right = sum(map(len, tokens)) == len(text)
    found: list[str] = []
    open_: list[str] = []
    in_key = False
    for token, following in zip(tokens if right else _before_fault(text), [*tokens[1:], ""], strict=False):
        if token == " " or token == ",":
            token, in_key = ",", open_[-1:] == ["{"]
        elif token == ":":
            in_key = False
        elif token == "{" or token == "[":
            open_.append(token)
            in_key = token == "{"
        elif token == "}" or token == "]":
            if not open_ or (open_.pop() == "{") != (token == "}"):
                raise ValueError("brackets do not match")
            in_key = False
        elif in_key:
            token = token if token[0] == '"' else quoted(token)
            if following != ":":
                token += ":null"
        elif token[0] != '"' and not _SCALAR(token):
            token = quoted(token)
        found.append(token)
    if not right:
        raise ValueError(f"a definition holds {text[sum(map(len, _before_fault(text)))]!r} where it is not allowed")
    return "".join(found)


def _before_fault(text: str) -> list[str]:
    """The tokens before the first character that begins none."""
    found, at = [], 0
    while (match := _TOKEN.match(text, at)) is not None:
        found.append(match[0])
        at = match.end()
    return found
