"""Every row of the tables of SSTP, one by one: forms of acknowledgement, look-alike letters, fields that hold names,
bounds in the schema, columns of a scan."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

import turnwire
from tests.sstp.examples import example
from tests.sstp.test_session import message, reasons
from turnwire import sstp
from turnwire.errors import DecodeError
from turnwire.sstp import codec, names
from turnwire.sstp.spec import Kind

ARRIVED = (
    *("ack", "acknowledged", "confirming receipt", "copy", "copy that", "got it", "i acknowledge", "many thanks"),
    *(
        "message received",
        "noted",
        "noted with thanks",
        "read",
        "receipt acknowledged",
        "receipt confirmed",
        "received",
    ),
    *("roger", "roger that", "thank you", "thanks", "thanks for the update", "understood", "wilco", "you are welcome"),
    *("danke", "erhalten", "notiert", "verstanden", "entendido", "gracias", "muchas gracias", "recibido"),
    *("bien reçu", "c'est noté", "compris", "entendu", "merci", "noté", "capito", "grazie", "ricevuto"),
    *("obrigada", "obrigado", "recebido", "了解", "了解しました", "了解です", "承知しました", "かしこまりました"),
    *("ありがとうございます", "收到", "明白", "谢谢", "понял", "понятно", "принято", "спасибо"),
)
"""What says that something arrived: no answer to a question about something else."""
AGREES = (
    *(
        "agreed",
        "all clear",
        "confirmed",
        "done",
        "fine",
        "good",
        "great",
        "i agree",
        "i see",
        "i understand",
        "i will",
    ),
    *("looks good", "makes sense", "no problem", "ok", "okay", "ok thanks", "on it", "perfect", "right", "sounds good"),
    *("sure", "sure thing", "will do", "works for me", "yes", "alles klar", "bestätigt", "einverstanden", "geht klar"),
    *(
        "in ordnung",
        "confirmado",
        "de acuerdo",
        "vale",
        "d'accord",
        "d'accordo",
        "va bene",
        "combinado",
        "好的",
        "хорошо",
    ),
)
"""What says yes: an answer where there is a question."""
MILD = (
    *("affirmative", "alright", "all right", "awesome", "clear", "cool", "crystal clear", "excellent", "good to know"),
    *("happy to help", "i confirm", "my pleasure", "nice", "no worries", "ready when you are", "standing by"),
    *("very well", "well done", "wonderful"),
)


@pytest.mark.parametrize("form", [*ARRIVED, *AGREES, *MILD])
def test_every_form_of_acknowledgement(form):
    found = "doubtful_acknowledgement" if form in MILD else "acknowledgement"
    for text in (form, form.capitalize(), f" {form}. "):
        session = sstp.Session()
        session.feed(message("ann", 1, text="The tests fail on the branch main"))
        assert reasons(session.feed(message("bob", 1, Kind.KNOWLEDGE, text=text))) == [found], text
        session = sstp.Session()
        session.feed(message("ann", 1, Kind.QUERY, to="bob", question="Shall the old parser go away?"))
        wanted = [found] if form in ARRIVED else []
        assert reasons(session.feed(message("bob", 1, Kind.KNOWLEDGE, text=text))) == wanted, text


def test_no_form_is_left_out_of_these_lists():
    assert set(ARRIVED) | set(AGREES) == sstp.ACKNOWLEDGEMENTS


TWINS = [
    *zip("аеорсухіјѕԁһӏвкмнтգ", "aeopcyxijsdhlbkmhtg", strict=True),
    *zip("αειοκνρτυχ", "aeiokvptux", strict=True),
    *zip("01|", "oll", strict=True),
]
"""A letter that looks like a Latin one, and that."""


@pytest.mark.parametrize("pair", TWINS)
def test_every_letter_that_looks_like_another(pair):
    strange, usual = pair
    for left, right in (
        (f"x{strange}z", f"x{usual}z"),
        (f"{strange}zx", f"{usual}zx"),
        (f"zx-{strange}", f"Zx {usual}"),
    ):
        assert names.alike(left, right) and names.alike(right, left) and not names.same(left, right)
        session = sstp.Session(roster=[right])
        assert "look_alike" in reasons(session.feed(message(left, 1)))
    assert names.alike("rnodern", "modem") and names.alike("vvill", "will") and not names.alike("anna", "hanna")


@pytest.mark.parametrize("value", ["<x>", "<your agent>", "<<x>>"])
def test_a_placeholder_is_in_angle_brackets_where_a_name_is_due(value):
    """In other fields only those of the templates are placeholders."""
    held = {"actor_id", "session_id", "directed_to", "assigned_to"}
    seen = set()
    for kind in Kind:
        for part in ("header", "payload"):
            for name, usual in example(kind)[part].items():
                if isinstance(usual, str) and name not in ("kind", "schema_id"):
                    changed = example(kind)
                    changed[part][name] = value
                    found = sstp.check(sstp.decode(json.dumps(changed)))
                    assert [(str(i.reason), i.where) for i in found] == (
                        [("placeholder", f"/{part}/{name}")] if name in held else []
                    )
                    seen.add(name)
    assert held < seen


@pytest.mark.parametrize(
    ("field", "values"),
    [("logical_clock", (-1, 0, 1, 2)), ("risk_score", (-0.1, 0, 0.0, 1, 1.0, 1.1)), ("uncertainty", (-0.1, 0, 1, 1.1))],
)
def test_the_schema_has_the_bounds_of_reading_and_of_writing(field, values):
    jsonschema = pytest.importorskip("jsonschema")
    read, written = (jsonschema.Draft202012Validator(sstp.json_schema(strict=strict)) for strict in (False, True))
    for value in values:
        changed = example(Kind.QUERY)
        changed["payload" if field == "uncertainty" else "header"][field] = value
        try:
            issues = sstp.check(sstp.decode(json.dumps(changed)))
        except DecodeError:
            assert not read.is_valid(changed) or value < 0
            assert not written.is_valid(changed)
        else:
            assert read.is_valid(changed) and written.is_valid(changed) is (issues == []), value


@pytest.mark.parametrize("kind", Kind)
def test_every_column_of_a_scan_has_its_field(kind):
    """By the name of the field; what a kind lacks is null."""
    value = example(kind)
    value["header"] |= {"provenance": "grep", "risk_score": 0.25}
    for name, number in (("confidence", 0.5), ("uncertainty", 0.75)):
        if name in value["payload"]:
            value["payload"][name] = number
    (batch,) = turnwire.scan(json.dumps(value).encode(), wire="sstp")
    fields = value["header"] | value["payload"]
    for name in ("actor_id", "session_id", "logical_clock", "provenance", "risk_score", "confidence", "uncertainty",
                 "directed_to", "assigned_to", "commit_mode", "verdict", "memory_type"):  # fmt: skip
        found = batch[name][0] if batch.valid(name)[0] else None
        assert found == fields.get(name), name


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"header":', True),
        ('{"header":{}}', True),
        ('{"payload":{},"header":{}}', True),
        ('{"payload":{},"header":1}', False),
        ('{"a":1,"header":{}}', False),
        ('{"a":1,"header":{"actor_id":"x"},"payload":', True),
        ('{"a":1,"header":{},"payload":', False),
        ('{"a":1,"actor_id":"x","payload":', False),
        ('{"a":1,"kind":"query","origin":{}}', True),
        ('{"a":1,"kind":"query","origin":"x"}', False),
        ('{"a":1,"origin":{}}', False),
        ('{"kind":"query"}', False),
        ('["header"]', False),
        ("", False),
    ],
)
def test_what_looks_like_a_message(text, found):
    for data in (text, text.encode(), f" \n{text}"):
        assert codec.detect(data) is found


WAYS = {
    "fields": lambda message: message.fields["note"],
    "extras": lambda message: message.extras["note"],
    "header": lambda message: message.header["note"],
    "payload": lambda message: message.payload["note"],
}
"""Ways to what can be changed in a message that was read."""


@pytest.mark.parametrize("way", WAYS)
def test_what_is_changed_inside_a_message_is_written(way):
    value = example(Kind.INTENT)
    for part in (value, value["header"], value["payload"]):
        part["note"] = {"a": 1}
    text = json.dumps(value, separators=(",", ":"))
    read = sstp.decode(text)
    assert sstp.encode(read) == text
    WAYS[way](read)["a"] = 2
    assert json.loads(sstp.encode(read)) == read.to_dict() != value
    for other in (copy.copy(read), copy.deepcopy(read), pickle.loads(pickle.dumps(read))):
        assert json.loads(sstp.encode(other)) == read.to_dict()
    apart = sstp.decode(text)
    apart.to_dict()["note"]["a"] = 2
    assert sstp.encode(apart) == text


def test_what_names_no_session_is_one_of_its_own_beside_several():
    several = [message("ann", 1, session="s-1"), message("bob", 1, session="s-2")]
    nameless = message("cid", 1, Kind.KNOWLEDGE, session=None)
    named = message("cid", 1, session="s-3")
    for more, found in (([nameless, named], True), ([nameless, nameless], False), ([named, named], False)):
        status = {line.clause.id: line.status for line in sstp.conformance(*several, *more)}
        assert (status["clock"] == "pass") is (status["one_speaker"] != "fail") is found
