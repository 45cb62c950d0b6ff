"""The password in a URL, anywhere in a payload: a lint, told alike by the twins; a fault where it surely is one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.sap.documents import TASK, changed
from turnwire import sap
from turnwire.errors import Reason

pytestmark = pytest.mark.usefixtures("twin")

WITH = (
    "postgres://u:pw@h/db",
    "scheme://user:password@",
    "a://:b@",
    "redis://:s3cr3t@cache:6379/0",
    "HTTPS://user:p%40ss@example.org/x?y=1",
    "see amqp+ssl://svc:hunter2@broker:5671 for the queue",
    "dsn=mysql://root:toor@localhost,timeout=5",
    '{"url": "https://a:b@c"}',
    "http://ok/ then http://u:p@h/",
    "Wert: ftp://müller:geheim@h",
)
WITHOUT = (
    "https://example.org/x?mail=a:b@c",
    "https://example.org/@user:name@x",
    "ssh://git@host/repo",
    "mail a@b.c, c:d@e",
    "://u:p@h",
    "https://user:@h",
    "http://h:8080/",
    "u:p@h",
    "https://u:p h@x",
)


def found(payload: Any) -> list[str]:
    text = json.dumps(changed(TASK, "/payload", payload), ensure_ascii=False)
    fresh, read = sap.Task.from_dict(json.loads(text)), sap.decode(text)
    issues = [
        [(issue.where, issue.severity) for issue in sap.check(task) if issue.reason is Reason.CREDENTIALS_IN_URI]
        for task in (fresh, read)
    ]
    assert issues[0] == issues[1] and {severity for _, severity in issues[0]} <= {"info"}
    assert json.loads(sap.encode(read))["payload"] == payload
    return [str(where) for where, _ in issues[0]]


@pytest.mark.parametrize("text", [*WITH, *WITHOUT])
def test_a_password_is_seen_wherever_the_url_stands(text: str, twin: str) -> None:
    seen = text in WITH
    assert found({"x": text}) == ["/payload/x"] * seen
    assert found({"x": {"y": [1, {"z": [text]}]}}) == ["/payload/x/y/1/z/0"] * seen
    name = text.replace("~", "~0").replace("/", "~1")
    assert found({"x": {text: 5}}) == [f"/payload/x/{name}"] * seen
    for before in (*range(18), 31, 32, 33, 63, 64, 65) if twin == "native" else (0, 1):
        assert found({"x": " " * before + text + "."}) == ["/payload/x"] * seen, before
        assert found({"x": "ü" * before + " " + text}) == ["/payload/x"] * seen, before


@pytest.mark.parametrize("text", WITH[:6])
def test_it_is_seen_whichever_letter_is_written_as_an_escape(text: str) -> None:
    whole = json.dumps(changed(TASK, "/payload", {"x": text}))
    at = whole.index(text)
    for place in range(at, at + len(text)):
        written = f"{whole[:place]}\\u{ord(whole[place]):04x}{whole[place + 1 :]}"
        reasons = [issue.reason for issue in sap.check(sap.decode(written))]
        assert reasons == [Reason.CREDENTIALS_IN_URI], written[place : place + 6]
    slashes = sap.decode(whole.replace(text, text.replace("/", "\\/")))
    assert [issue.reason for issue in sap.check(slashes)] == [Reason.CREDENTIALS_IN_URI]


@pytest.mark.parametrize(
    ("text", "certain"),
    [
        ("postgres://u:pw@h/db", True),
        ("go to postgres://u:pw@h/db", True),
        ("postgres://u:$PASSWORD@h and postgres://u:pw@h", True),
        ("postgres://u:$PASSWORD@h/db", False),
        ("postgres://u:<password>@h/db", False),
        ("postgres://u:{pw}@h/db", False),
        ("postgres://u:***@h/db", False),
        ("postgres://u:redacted@h/db", False),
    ],
)
def test_only_what_is_one_for_certain_breaks_the_clause(text: str, certain: bool) -> None:
    for payload in ({"x": text}, {"x": [text]}, {text: 1}):
        line = sap.conformance(json.dumps(changed(TASK, "/payload", payload))).line("secrets")
        assert (bool(line.faults), bool(line.doubts)) == (certain, not certain)


@pytest.mark.parametrize("piece", ["@", "a@", "://a:", "://", "//@", "a://b:c", "a"])
def test_hostile_texts_are_searched_once(piece: str) -> None:
    """Each byte is looked at a few times, however many signs of a URL there are: a square would never end."""
    assert found({"x": piece * 30_000}) == []
