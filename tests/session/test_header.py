"""The explanation at the beginning of a session: of all that it uses, and nothing else, as a test reads it."""

from __future__ import annotations

import random
import re
import uuid
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from benchmarks.session_traffic import interleaved_nslip
from tests.session.material import choices, composed, sessions
from turnwire import session
from turnwire.errors import DecodeError
from turnwire.session import Options
from turnwire.session.alias_alphabet import ALPHABETS
from turnwire.session.aliases import Expander
from turnwire.session.header import ALL, explanation
from turnwire.session.metering import Guess
from turnwire.session.notation import read
from turnwire.session.reading import records

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
        elif hasattr(member.node, "items"):
            found |= {mark for each in member.node.items for mark in marks(each)}
    return found - {""}


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


@given(sessions, choices, st.lists(st.sampled_from(["a", "id", "turn", "a.b"]), max_size=2))
def test_what_a_session_uses_is_explained_and_nothing_else(
    events: list[Any], options: Options, keys: list[str]
) -> None:
    text = composed(events * 3, tuple(keys), options)
    wanted = used(text, options.checks)
    header = next(records(text, options.checks)).raw
    if options.prompt:
        assert explained(header) == wanted
        assert session.prompt(text, sealed=options.checks).rstrip("\n") in header
    else:
        assert not explained(header)
    assert explained(session.prompt(text, sealed=options.checks)) == wanted


@given(sessions, choices)
@example(["%1"], Options())
def test_a_writer_explains_what_it_uses(events: list[Any], options: Options) -> None:
    """It does not know what will come: all that its options let it use, and nothing that it never does."""
    writer = session.Writer(None, "id", **options._replace(prompt=True)._asdict())
    text = "".join([*(writer.add(event) for event in events * 5), writer.close()])
    if not any(line.startswith("%1") for line in text.split("\n")):
        assert session.prompt(text, sealed=options.checks) == ""
        return
    wanted = used(text, options.checks)
    header = next(line for line in text.split("\n") if line.startswith("%1"))
    assert wanted <= explained(header) <= {*WORDS} - {"-"}
    assert explained(session.prompt(text, sealed=options.checks)) == wanted
    assert ("+" in explained(header)) == options.counters and ("=" in explained(header)) == options.before


PARTS = {
    "?": "a={x?:1}\na\n",
    "+": "a={x+:1}\na\n",
    "=": "a={y:1 x=y:2}\n",
    "^": "a={x^:1}\n",
    "~": 'a={x~:"2026-01-01T00:00:00Z"}\n',
    "#": 'a={"x#p,q":[[1,2],[3,4]]}\n',
    "$": "a={x$:{y:1}}\n",
    "b=a": "a={x:1}\nb=a{x:2}\n",
    "あ": '!"あhelloあ あ"\n',
    "-": '!"x"\n',
    "": '{"a":1}\n!"x"\n',
}
"""Each part of the form -> records that have it and no other."""


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("sealed", [True, False])
def test_each_part_is_explained_where_a_session_has_it(part: str, sealed: bool) -> None:
    text = "%1" + {"あ": " &あ", "-": " &-"}.get(part, "") + f"\n{PARTS[part]}"
    text = session.seal(text) if sealed else text
    assert explained(session.prompt(text, sealed=sealed)) == {part, *["checks"] * sealed} - {""}


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
    assert session.prompt(text) == header[len(f"%1 &{letter} ") : -2] + "\n"
    assert explained(session.prompt(text)) & {each.first for each in ALPHABETS} == {letter}


def test_all_of_the_form() -> None:
    """Without a text; and what is in one, where it was written without explanation."""
    assert session.prompt() == explanation(ALL) + "\n" and explained(session.prompt()) == {*WORDS, "あ"}
    rnd = random.Random(3)
    events = [{"id": str(uuid.UUID(int=rnd.getrandbits(128))), "n": number} for number in range(30)]
    text = session.encode(events, None, prompt=False, checks=False)
    assert text.startswith("%1 &-\n")
    assert explained(session.prompt(text, sealed=False)) == {"+", "?", "-"}
    assert session.prompt('{"a":1}\n') == session.prompt("") == ""
    assert explained(session.prompt(text[: text.rindex(".")], sealed=False)) == {"+", "?", "-"}, "it goes on"
    with pytest.raises(DecodeError, match="digest_mismatch"):
        session.prompt(text)


def test_of_paths_that_do_as_well_the_shortest_session_is_taken() -> None:
    """Conversations that are told apart by several paths: by each of them a session is as long without aliases."""
    events = interleaved_nslip(1, 50)
    paths = ("conv_id", "goal_id", "task_id")
    tokens = [Guess().count(session.encode(events, None, path)) for path in paths]
    text = session.encode(events, None)
    assert Guess().count(text) == min(tokens) < max(tokens)
    assert session.decode(text) == events
