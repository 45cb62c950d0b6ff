"""Words for how work stands and how urgent it is: each wire's own, and which others pass."""

from __future__ import annotations

from typing import Any

import pytest

from turnwire import WIRES, Context
from turnwire.conversion.forms import FORMS
from turnwire.conversion.paths import ABSENT
from turnwire.conversion.tables import PRIORITIES, STATUSES
from turnwire.sstp.spec import PLACEHOLDERS

pytestmark = pytest.mark.once

NAMES = Context().names
OTHERS = ["blocked", "DONE", "x y", "x" * 64, "x" * 65, "a\nb", "", "succeeded"]
"""Words that are nobody's own."""
NO_WORDS: list[Any] = [None, 5, True, 1.0, [], ["done"], {}]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(("fact", "table"), [("status", STATUSES), ("priority", PRIORITIES)])
def test_words_of_the_table_are_read_as_they_are_written(
    wire: str, fact: str, table: dict[str, dict[str, Any]]
) -> None:
    form = FORMS[fact]
    for name, row in table.items():
        assert form.write(name, NAMES, wire) == row.get(wire, ABSENT)
        if wire in row:
            assert form.read(row[wire], NAMES, wire) == name
    own = [row[wire] for row in table.values() if wire in row]
    assert len(set(own)) == len(own)


@pytest.mark.parametrize("wire", WIRES)
def test_other_words_pass_between_those_that_are_open(wire: str) -> None:
    """nSLIP and SSTP write them; a status of KickLang is read, too. In nSLIP one fits into a slot and a line; in SSTP
    none is a placeholder."""
    form = FORMS["status"]
    for word in [*OTHERS, *PLACEHOLDERS]:
        said = wire != "sstp" or word not in PLACEHOLDERS
        assert form.read(word, NAMES, wire) == (word if wire in ("nslip", "sstp", "kick") and said else ABSENT)
        fits = {"nslip": len(word) <= 64 and "\n" not in word, "sstp": said}.get(wire, False)
        assert form.write(word, NAMES, wire) == (word if fits else ABSENT)
        assert FORMS["priority"].read(word, NAMES, wire) is FORMS["priority"].write(word, NAMES, wire) is ABSENT
    for value in NO_WORDS:
        assert form.read(value, NAMES, wire) is ABSENT
        assert value.__hash__ is None or form.write(value, NAMES, wire) is ABSENT


@pytest.mark.parametrize("value", [0, 1, 2, 3, 4, -1, True, False, "0", 1.0])
def test_a_number_of_nslip_is_a_priority_by_its_type(value: Any) -> None:
    wanted = dict(enumerate(("urgent", "high", "normal", "low"))).get(value, ABSENT) if type(value) is int else ABSENT
    assert FORMS["priority"].read(value, NAMES, "nslip") == wanted


@pytest.mark.parametrize("wire", WIRES)
def test_a_word_that_would_be_read_as_another_is_not_written(wire: str) -> None:
    """Such as "done", which a status of nSLIP: whoever means another thing by it cannot say it there."""
    own = {row[wire] for row in STATUSES.values() if wire in row}
    for word in {word for row in STATUSES.values() for word in row.values()} - {*STATUSES}:
        written = FORMS["status"].write(word, NAMES, wire)
        assert written == (word if wire in ("nslip", "sstp") and word not in own else ABSENT)


IDS = [f"{number:08x}-1111-4111-8111-11111111111a" for number in range(3)]
MAPPED = {
    "uuid": Context(uuids={"A": IDS[0], "B": IDS[1].upper(), IDS[1]: IDS[2]}),
    "uuid4": Context(uuids={"A": IDS[0], "B": IDS[1].upper(), IDS[1]: IDS[2]}),
    "role": Context(roles={"A": "WePlan", "B": "Dima", "WePlan": "Human"}),
    "agent_number": Context(agents={"A": 1, "B": 2, "1": 3}),
    "conversation_number": Context(conversations={"A": 1, "B": 2, "1": 3}),
    "id_number": Context(ids={"A": 1, "B": 2, "1": 3}),
}


@pytest.mark.parametrize("form", MAPPED)
def test_no_two_names_become_one(form: str) -> None:
    """What stands for a name stands for no other, and leads back to it: also where another name looks like it."""
    names, pair = MAPPED[form].names, FORMS[form]
    said = ["A", "B", "C", "WePlan", "Dima", "Human", "Broadcast", *IDS, IDS[0].upper(), "1", "2", "3", "4"]
    written = {name: pair.write(name, names, "kick") for name in said}
    found = {name: value for name, value in written.items() if value is not ABSENT}
    assert {"A", "B"} <= found.keys() < {*said}
    for name, value in found.items():
        assert pair.read(value, names, "kick") == name, (name, value)
