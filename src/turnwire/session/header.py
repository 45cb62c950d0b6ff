"""The first line of a session: its version, its settings, and an explanation for a model that reads it."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

HEADER = "%1"
"""The beginning of the first line: version 1 of the form."""
BARE = "-"
"""The end of the setting that says that UUIDs are written without their hyphens."""
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
ALL = (*_PARTS, "&", BARE)


class Settings(NamedTuple):
    """Settings of the records behind a header or an anchor.

    keys: the paths that name the conversation. aliases: the first letter of their alphabet, if there are any, and ``-``
    where UUIDs have no hyphens.
    """

    keys: tuple[str, ...] = ()
    aliases: str = ""

    def words(self) -> list[str]:
        """As they are written."""
        return [*(f"@{key}" for key in self.keys), *([f"&{self.aliases}"] if self.aliases else [])]


def explanation(parts: Collection[str] = ALL, checks: bool = True, letter: str = "あ") -> str:
    """The text that explains a session in which these parts occur. letter: what aliases are explained by."""
    found = ["a={…}: event; a x|y: like it with x, y at marks."]
    if words := [text for part, text in _PARTS.items() if part in parts]:
        found.append("Empty: " + ", ".join(words) + ".")
    if "&" in parts:
        found.append(f"{letter}x{letter}: {letter}=x.")
    if BARE in parts:
        found.append("UUIDs without -.")
    if checks:
        found.append("Ends: checks.")
    return " ".join(found)


def header(settings: Settings, explained: str) -> str:
    """The first line of a session."""
    return " ".join([HEADER, *settings.words(), *([explained] if explained else [])])


def settings_of(line: str) -> Settings:
    """The settings in a first line. Raises ValueError for a line that is none of version 1."""
    first, *words = line.split(" ")
    if first != HEADER:
        raise ValueError("the first line names another version")
    keys: list[str] = []
    for word in words:
        if word[:1] != "@":
            return Settings(tuple(keys), word[1:] if word[:1] == "&" else "")
        keys.append(word[1:])
    return Settings(tuple(keys))


def prompt(text: str | None = None, sealed: bool = True) -> str:
    """A short text that explains the form to a model: what a session uses, or all of it.

    text: the session that is explained, for one that was written without (``prompt=False``); aliases are explained by
    the letter that it uses first. JSON lines need no explanation: "". sealed: whether its records have checks. Raises
    what ``decode`` raises.
    """
    if text is None:
        return explanation() + "\n"
    from turnwire.session.reading import used_in

    used = used_in(text, sealed)
    return "" if used is None else explanation(*used) + "\n"
