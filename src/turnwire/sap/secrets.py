"""Values that look like secrets (section 11): by the name they have, by their form, or as the password in a URL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from turnwire.json.pointers import pointer_step

SHORTEST = 15  # characters of a value that can be a secret by its form

# The compiled twin looks for the rare letters of these words first: change _native/json/secrets.h with them.
_NAME = re.compile(
    r"(?:^|[_\-.\s])(?:pass(?:word|wd|phrase)|pwd|secret|api[_\-]?key|access[_\-]?key|private[_\-]?key|token"
    r"|credentials?|authorization)(?:$|[_\-.\s])",
    re.IGNORECASE | re.ASCII,
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])", re.ASCII)
_VALUE = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|\bAKIA[0-9A-Z]{16}\b"
    r"|\bgh[pousr]_[A-Za-z0-9]{36,}"
    r"|\bgithub_pat_[A-Za-z0-9_]{22,}"
    r"|\bsk-[A-Za-z0-9_-]{20,}"
    r"|\bxox[abprs]-[A-Za-z0-9-]{10,}"
    r"|\bAIza[A-Za-z0-9_-]{35}\b"
    r"|\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"
    r"|\b(?:Bearer|Basic) [A-Za-z0-9+/_.=-]{20,}",
    re.ASCII,
)
_PASSWORD = re.compile(r"(?<=[A-Za-z0-9+.-])://[^\s\"/?#@:]*:([^\s\"/?#@]+)@", re.ASCII)
"""The user and the password of a URL, wherever it stands in a text."""

NAME, FORM, URL = "its name", "its form", "the password in a URL"
"""The marks of secrets, as they are told."""

MOST_TOLD = 1 << 20
"""Characters that the pointers of what is told may have together, but for the first ones: each has all names above."""


def secrets(value: Any, where: str) -> Iterator[tuple[str, str]]:
    """(JSON pointer, the clue) of every value below ``value`` that looks like a secret, or whose name holds
    one; of very many, the first."""
    told = 0
    for steps, why in _found(value, ()):
        names: list[Any] = []
        while steps:
            steps, name = steps
            names.append(name)
        pointer = "/".join((where, *(pointer_step(str(name)) for name in reversed(names))))
        yield pointer, why
        told += len(pointer)
        if told > MOST_TOLD:
            return


def _found(value: Any, above: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], str]]:
    """The same with steps in place of pointers, the last one first: (steps above, name)."""
    if isinstance(value, dict):
        for name, item in value.items():
            if isinstance(item, str) and item and _NAME.search(_CAMEL.sub("_", str(name))):
                yield (above, name), NAME
            elif (why := _form(str(name))) is not None:
                yield (above, name), why
            else:
                yield from _found(item, (above, name))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _found(item, (above, index))
    elif isinstance(value, str) and (why := _form(value)) is not None:
        yield above, why


def _form(text: str) -> str | None:
    """The mark by which a text is a secret, or None."""
    if len(text) >= SHORTEST and _VALUE.search(text):
        return FORM
    return URL if "://" in text and _PASSWORD.search(text) else None


_CERTAIN_NAME = re.compile(
    r"(?:^|[_\-.\s])(?:pass(?:word|wd|phrase)|pwd|client[_\-]?secret|api[_\-]?key|access[_\-]?key|private[_\-]?key)$",
    re.IGNORECASE | re.ASCII,
)
_STANDS_FOR = re.compile(
    r"\$|[<{\[%]|[a-z][a-z0-9+.-]*:|(.)\1*\Z|(?:redacted|removed|hidden|none|null)\Z", re.IGNORECASE | re.ASCII
)
"""A value that is not a secret itself: a reference, a place to fill in, a mask."""


def is_certain(fields: dict[str, Any], where: str) -> bool:
    """True if what looks like a secret at a JSON pointer is one beyond doubt: by its form, as the password
    in a URL, or by a name that nothing else has and a value that stands for nothing else."""
    value: Any = fields
    name = ""  # of the value, "" in an array
    for step in where.split("/")[1:]:
        in_list = isinstance(value, (list, tuple))
        name = "" if in_list else step.replace("~1", "/").replace("~0", "~")
        value = value[int(step) if in_list else name]
    texts = [text for text in (value, name) if isinstance(text, str)]
    passwords = [found[1] for text in texts for found in _PASSWORD.finditer(text)]
    if passwords:
        return any(_STANDS_FOR.match(password) is None for password in passwords)
    if any(len(text) >= SHORTEST and _VALUE.search(text) for text in texts):
        return True
    named = _CERTAIN_NAME.search(_CAMEL.sub("_", name)) is not None
    return named and isinstance(value, str) and _STANDS_FOR.match(value) is None
