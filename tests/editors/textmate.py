"""Reads text by a TextMate grammar: as much of the rules of vscode-textmate as our grammars use.

A rule is a ``match``, a ``begin`` with its ``end`` (which nothing inside can shorten), or an ``include``. Of the rules
that match at the earliest place the first one wins. Text goes in line by line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

SYNTAXES = Path(__file__).parents[2] / "packaging" / "editors" / "syntaxes"
KNOWN = {
    "name",
    "match",
    "begin",
    "end",
    "captures",
    "beginCaptures",
    "endCaptures",
    "contentName",
    "include",
    "patterns",
}


class Token(NamedTuple):
    """A part of a line. line: from 1. scopes: from the outermost to the innermost, without that of the grammar."""

    line: int
    text: str
    scopes: tuple[str, ...]


class Grammar:
    """One of our grammars, by its file's name."""

    def __init__(self, name: str) -> None:
        self.data: dict[str, Any] = json.loads((SYNTAXES / f"{name}.tmLanguage.json").read_text("utf-8"))
        self.rules = list(self._flat(self.data["patterns"]))

    def _flat(self, patterns: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for rule in patterns:
            assert set(rule) <= KNOWN, rule
            if "include" in rule:
                yield from self._flat([self.data["repository"][rule["include"].removeprefix("#")]])
            elif "patterns" in rule and "begin" not in rule:
                yield from self._flat(rule["patterns"])
            else:
                yield rule

    def tokens(self, text: str) -> list[Token]:
        """The parts of a text that are coloured, in order; those inside others come after them."""
        found: list[Token] = []
        inside: dict[str, Any] | None = None
        for number, line in enumerate(text.split("\n"), 1):
            if inside is not None:
                ending = re.search(inside["end"], line)
                if ending is None:
                    found.append(Token(number, line, (inside["name"], inside["contentName"])))
                    continue
                found += self._parts(number, ending, inside.get("endCaptures", {}), inside["name"])
                inside = None
                continue
            at = 0
            while at <= len(line):
                rule, match = self._first(line, at)
                if match is None or rule is None:
                    break
                if "begin" in rule:
                    found += self._parts(number, match, rule.get("beginCaptures", {}), rule["name"])
                    inside = rule
                    break
                found += self._parts(number, match, rule.get("captures", {}), rule.get("name"))
                at = max(match.end(), at + 1)
        return found

    def _first(self, line: str, at: int) -> tuple[dict[str, Any] | None, re.Match[str] | None]:
        best: tuple[dict[str, Any] | None, re.Match[str] | None] = (None, None)
        for rule in self.rules:
            match = re.compile(rule.get("match") or rule["begin"]).search(line, at)
            if match and (best[1] is None or match.start() < best[1].start()):
                best = rule, match
        return best

    @staticmethod
    def _parts(number: int, match: re.Match[str], captures: dict[str, Any], name: str | None) -> Iterator[Token]:
        outer = (name,) if name else ()
        if outer:
            yield Token(number, match[0], outer)
        for group, scope in captures.items():
            if match[int(group)]:
                yield Token(number, match[int(group)], (*outer, scope["name"]))
