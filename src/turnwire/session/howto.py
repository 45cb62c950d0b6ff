"""What a session begins with: a line that tells a reader how to read it."""

from __future__ import annotations

from collections.abc import Collection

HEADER = "%1"
"""How the first line begins: version 1 of the form."""
_BEGIN = "a={…}: event; a x|y: like it with x, y at marks."
_PARTS = {
    "?": "? same",
    "+": "+ next",
    "=": "=p last p",
    "^": "^ last+1",
    "~": "~ n later",
    "#": "# table",
    "$": "$ JSON text",
    "b=a": "b=a{…} changed a",
}
ALIASES = "{0}x{0}: {0}=x."
"""With the letter that stands for an alias."""
LETTER = "あ"
UUIDS = "UUIDs without -."
ALL = (*_PARTS, "&", "-")
_END = "Ends: checks."


def howto(parts: Collection[str] = ALL, checks: bool = True, letter: str = LETTER) -> str:
    """The text that explains a session in which these parts occur. letter: what aliases are explained by."""
    words = [text for part, text in _PARTS.items() if part in parts]
    empty = ["Empty: " + ", ".join(words) + "."] if words else []
    named = [text for part, text in (("&", ALIASES.format(letter)), ("-", UUIDS)) if part in parts]
    return " ".join([_BEGIN, *empty, *named, *([_END] if checks else [])])


def prompt(text: str | None = None, sealed: bool = True) -> str:
    """A short text that explains the form to a model: what a session uses, or all of it.

    text: the session that is explained, for one that was written without (``prompt=False``); aliases are explained by
    the letter that it uses first. JSON lines need no explanation: "". sealed: whether its records have checks. Raises
    what ``decode`` raises.
    """
    if text is None:
        return howto() + "\n"
    from turnwire.session.explaining import used_in

    used = used_in(text, sealed)
    return "" if used is None else howto(used.parts, sealed, used.letter) + "\n"


def header(keys: tuple[str, ...], aliases: str, explained: str) -> str:
    """The first line of a session. aliases: the first character of their alphabet, if there are any, and ``-`` where
    UUIDs have no hyphens."""
    return " ".join([HEADER, *settings(keys, aliases), *([explained] if explained else [])])


def settings(keys: tuple[str, ...], aliases: str) -> list[str]:
    """What a header or an anchor says of the records after it."""
    return [*(f"@{key}" for key in keys), *([f"&{aliases}"] if aliases else [])]


def settings_of(line: str) -> tuple[tuple[str, ...], str]:
    """The paths that a first line names, and what it says of aliases ("": there are none) and UUIDs.

    Raises ValueError for a line that is none of version 1.
    """
    first, *words = line.split(" ")
    if first != HEADER:
        raise ValueError("the first line names another version")
    found = []
    for word in words:
        if word[:1] != "@":
            break
        found.append(word[1:])
    after = words[len(found)] if len(found) < len(words) else ""
    return tuple(found), after[1:] if after[:1] == "&" else ""
