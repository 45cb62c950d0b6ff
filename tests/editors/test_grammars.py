"""The TextMate grammars colour what the codecs read: on the vectors, and on the example of each construct."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.vectors import cases
from turnwire import csp, kick
from turnwire.errors import DecodeError

pytestmark = pytest.mark.once

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


if not SYNTAXES.exists():
    pytest.skip("needs the source tree", allow_module_level=True)

CSP, SPACE = Grammar("csp"), Grammar("space")


def scoped(grammar: Grammar, text: str, part: str) -> list[str]:
    """The texts that have a scope with that in its name."""
    return [token.text for token in grammar.tokens(text) if part in token.scopes[-1]]


@cases("csp", kind="parse")
def test_a_message_of_csp_is_coloured_as_it_is_read(case: dict[str, Any]) -> None:
    try:
        document = csp.parse(case["text"])
    except DecodeError:
        return  # what is damaged has no right colours
    messages = document.messages
    if any(isinstance(record, csp.Template) for record in document.records):
        return  # a template has the marks of a block, which are counted
    text = case["text"].replace("\r\n", "\n")
    assert scoped(CSP, text, "support.constant.intent") == [str(message.intent) for message in messages]
    assert scoped(CSP, text, "entity.name.type.party")[::3] == [message.sender for message in messages]
    assert len(scoped(CSP, text, "storage.type.block")) == len(messages)
    assert scoped(CSP, text, "invalid") == []


@cases("kick", kind="space")
def test_the_headers_of_a_space_document_are_its_sections(case: dict[str, Any]) -> None:
    try:
        document = kick.parse_space(case["text"], mode="lenient")
    except DecodeError:
        return
    text = re.sub("\r(?=\n)", "", case["text"]).removeprefix("\ufeff")
    assert len(scoped(SPACE, text, "punctuation.definition.heading")) == len(document.sections)
    if not document.issues:
        names = [section.name for section in document.sections]
        assert scoped(SPACE, text, "entity.name.section") == names
        assert scoped(SPACE, text, "storage.type") == [one.type for one in document.sections if one.type]
        assert scoped(SPACE, text, "constant.numeric.index") == [one.index for one in document.sections if one.index]
        assert scoped(SPACE, text, "entity.name.tag.place") == [one.place for one in document.sections if one.place]


@pytest.mark.parametrize("run", [3, 4, 8])
def test_what_stands_in_a_heredoc_is_content(run: int) -> None:
    inner = "CSP/1\nFROM A\nINTENT TASK\n" + ">" * (run - 1) + "\n+ DEF A = b"
    text = f"DATA\n{'<' * run}\n{inner}\n{'>' * run}\nSTATUS OK\n"
    tokens = CSP.tokens(text)
    assert [token.text for token in tokens if token.scopes[-1] == "meta.content.csp"] == inner.split("\n")
    assert [token.text for token in tokens if "header" in token.scopes[-1] or "begin.csp" in token.scopes[-1]] == [
        "<" * run
    ]
    assert ("OK", "constant.language.csp") in [(token.text, token.scopes[-1]) for token in tokens]


def test_a_patch_a_definition_and_a_wrong_word() -> None:
    text = "DEF SRC = src/\nINTENT BREW\nSTATUS NEARLY\nBASE C0\n+ DEF A = b\n- L1\n~ DEF A := c\nAPPLY -> C1\n"
    found = {token.text: token.scopes[-1] for token in CSP.tokens(text)}
    assert found["SRC"] == "entity.name.constant.csp"
    assert found["BREW"] == "invalid.illegal.intent.csp" and found["NEARLY"] == "invalid.illegal.value.csp"
    assert found["C0"] == found["C1"] == "constant.other.reference.csp"
    assert [found[part] for part in ("DEF A = b", "L1", "DEF A := c")] == [
        *("markup.inserted.csp", "markup.deleted.csp", "markup.changed.csp")
    ]


def test_text_that_only_mentions_the_sigil_is_text() -> None:
    assert SPACE.tokens("a ⫻b/c:d/1\n  ⫻no header\n") == []
    assert scoped(SPACE, "\\⫻escaped\n", "escape") == ["\\"]


def test_the_extension_names_both() -> None:
    package = json.loads((SYNTAXES.parent / "package.json").read_text("utf-8"))
    named = {entry["scopeName"]: SYNTAXES.parent / entry["path"] for entry in package["contributes"]["grammars"]}
    assert {scope: json.loads(path.read_text("utf-8"))["scopeName"] for scope, path in named.items()} == {
        "source.csp": "source.csp",
        "text.space.kick": "text.space.kick",
    }
