"""What the pages promise is tried: each sentence with "never", "once", "proved" or "whole" names the test that tries to
break it (``table.toml``), or several, where it promises several things; sentences with other words may, too."""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from pathlib import Path

import pytest

from tests.promises.sentences import ROOT, all_sentences, pages, sentences

pytestmark = pytest.mark.once

TABLE: dict[str, dict[str, str | list[str]]] = tomllib.loads(Path(__file__).with_name("table.toml").read_text("utf-8"))
NOTHING = "no promise: "


@cache
def names_in(path: str) -> frozenset[str]:
    """The names of the tests in a file."""
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("page", pages())
def test_each_sentence_that_promises_names_its_test(page: str) -> None:
    """A new sentence needs a line in the table, and a test; one that is gone takes its line with it."""
    told, table = sentences(page), TABLE.get(page, {})
    assert [one for one in told if one not in table] == [], "the table lacks these"
    every = all_sentences(page)
    assert [one for one in table if one not in every] == [], "the page has these no more"


def test_the_tests_are_there() -> None:
    missing = []
    for page, table in TABLE.items():
        for sentence, answers in table.items():
            for answer in [answers] if isinstance(answers, str) else answers:
                path, _, name = answer.partition("::")
                if not answer.startswith(NOTHING) and not (name.startswith("test_") and name in names_in(path)):
                    missing.append(f"{page}: {sentence}: {answer}")
    assert missing == []


def test_most_sentences_are_tried_and_the_others_say_why_not() -> None:
    answers = [answer for table in TABLE.values() for answer in table.values()]
    untried = [answer for answer in answers if isinstance(answer, str) and answer.startswith(NOTHING)]
    assert len(untried) < len(answers) / 2
    assert all(len(answer) > len(NOTHING) + 20 for answer in untried)
    assert all(len(answer) > 1 for answer in answers if isinstance(answer, list))


def test_sentences_are_found() -> None:
    assert any("never overwritten" in sentence for sentence in sentences("docs/cli.md"))
    assert any(sentence.startswith("what is signed was proved") for sentence in sentences("SECURITY.md"))
