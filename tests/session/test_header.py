"""The explanation at the beginning of a session: of all that it uses, and nothing else, as a test reads it."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest

from benchmarks.session_traffic import interleaved_nslip
from tests.conftest import rounds
from tests.session.material import any_options, composed, few_shapes
from turnwire import session
from turnwire.session import Options
from turnwire.session.aliases import ALPHABETS, Expander
from turnwire.session.framing import ALL, explanation, records
from turnwire.session.notation import read
from turnwire.session.shapes import ARRAY
from turnwire.session.writing import guess

pytestmark = pytest.mark.once

WORDS = {
    **{"?": "? same", "+": "+ next", "=": "=p last p", "^": "^ last+1", "~": "~ n later", "#": "# table"},
    **{"$": "$ JSON text", "b=a": "b=a{…} changed a", "-": "UUIDs without -.", "checks": "Ends: checks."},
}


def explained(text: str) -> set[str]:
    """The parts that a text explains; of aliases the letter that it does it with."""
    letter = re.search(r"(\S)x\1: \1=x\.", text)
    return {name for name, words in WORDS.items() if words in text} | ({letter[1]} if letter else set())


def marks(draft: Any) -> set[str]:
    """The first characters of the marks in a draft."""
    found = set()
    for member in draft:
        found |= {member.mark[:1]}
        if isinstance(member.node, list):
            found |= marks(member.node)
    return found - {"", ARRAY}


def used(text: str, sealed: bool) -> set[str]:
    """The parts that a session has, seen in its records."""
    found, letter, expand = ({"checks"} if sealed else set()), "", Expander("").expand
    begin = text.index("%") if text[:1] == "%" else text.index("\n%") + 1
    for number, record in enumerate(records(text, sealed, begin)):
        body = record.raw.replace("\n ", "\n")
        if not number or body[:1] == "^":
            said = re.match(r"\S+(?: @\S+)*(?: &(\S{1,2})(?= |$))?", body)
            assert said is not None
            expand = Expander(said[1] or "").expand
            letter = letter or (said[1] or "").rstrip("-")
            found |= {"-"} if (said[1] or "").endswith("-") else set()
            continue
        body = body if body[:1] == "." else expand(body)
        definition = re.fullmatch(r"[A-Za-z]*=([A-Za-z]*)(\{.*\})", body, re.DOTALL)
        if definition is not None:
            found |= marks(read(definition[2])) - {"-"} | ({"b=a"} if definition[1] else set())
    return found | ({letter} if letter else set())


SEEDS = [Random(seed) for seed in range(rounds(40))]
SESSIONS = [(["%1"], Options()), *((few_shapes(rnd), any_options(rnd)) for rnd in SEEDS)]


def test_what_a_session_uses_is_explained_and_nothing_else() -> None:
    for place, (events, chosen) in enumerate(SESSIONS):
        text = composed([*events, *events, {}], ((), ("id",), ("a", "a.b"))[place % 3], chosen)
        wanted = used(text, chosen.checks)
        found = explained(next(records(text, chosen.checks)).raw)
        if chosen.prompt and "\n^" in text:  # aliases are explained by one letter, later blocks may need other ones
            letters = {alphabet.first for alphabet in ALPHABETS}
            assert found >= wanted - letters and bool(found & letters) >= bool(wanted & letters)
        else:
            assert found == (wanted if chosen.prompt else set())


def test_a_writer_explains_what_it_uses() -> None:
    """It does not know what will come: all that its options let it use, and nothing that it never does."""
    written = 0
    for events, chosen in SESSIONS:
        writer = session.Writer(None, "id", **chosen._replace(prompt=True)._asdict())
        text = "".join([*(writer.add(event) for event in events * 3), writer.close()])
        for header in [line for line in text.split("\n") if line.startswith("%1")][:1]:
            written += 1
            assert used(text, chosen.checks) <= explained(header) <= {*WORDS} - {"-", "b=a"}
            assert explained(header) & {"+", "=", "~"} == (set() if chosen.plain else {"+", "=", "~"})
    assert written > 15


@pytest.mark.parametrize("alphabet", ALPHABETS, ids=lambda alphabet: alphabet.first)
def test_aliases_are_explained_by_the_letter_that_the_text_has(alphabet: Any) -> None:
    """The first block has letters of the alphabets before it, so that it takes this one; the next one none."""
    foreign = "".join(each.first for each in ALPHABETS[: ALPHABETS.index(alphabet)])
    events = [{"n": number, "text": f"a long text that comes back {foreign} and another"} for number in range(8)]
    events = [{**event, f"k{number}": event["text"]} for number, event in enumerate(events)]
    later = [{"n": number, f"k{number}": "a long text that comes back  and another"} for number in range(8)]
    text = composed(events + later, (), Options(every=8))
    letter, header = alphabet.first, text.split("\n")[0]
    assert f" &{letter} " in header and f"{letter}x{letter}: {letter}=x." in header


def test_all_of_the_form() -> None:
    assert session.prompt() == explanation(ALL) + "\n" and explained(session.prompt()) == {*WORDS, "あ"}


def test_of_paths_that_do_as_well_the_shortest_session_is_taken() -> None:
    """Conversations that are told apart by several paths: by each of them a session is as long without aliases."""
    events = interleaved_nslip(1, 50)
    paths = ("conv_id", "goal_id", "task_id")
    tokens = [guess([session.encode(events, None, path)])[0] for path in paths]
    text = session.encode(events, None)
    assert guess([text])[0] == min(tokens) < max(tokens)
    assert session.decode(text) == events
