"""Secrets in a payload (section 11): a lint, told alike by the twins; a fault where a value surely is one.

The compiled checker skips what has none of the rare letters of secrets, many bytes at once: it must not skip a secret,
wherever it begins, whichever letter is written as an escape.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests import vectors
from tests.sap.documents import TASK, changed
from turnwire import sap
from turnwire.errors import Reason
from turnwire.sap.rules import _VALUE, MOST_TOLD, SHORTEST, is_certain, secrets

pytestmark = pytest.mark.usefixtures("twin")

TELLING = (Reason.SECRET, Reason.CREDENTIALS_IN_URI)


def found(payload: Any, escaped: str = "") -> list[Any]:
    """The places of secrets, alike in a task that was made and one that was read, which are written back as they are.
    escaped: the payload's text, if it is written in another way."""
    text = json.dumps(changed(TASK, "/payload", payload), ensure_ascii=False)
    if escaped:
        text = text.replace(json.dumps(payload, ensure_ascii=False), escaped)
    told = []
    for task in (sap.Task.from_dict(json.loads(text)), sap.decode(text)):
        issues = [issue for issue in sap.check(task) if issue.reason in TELLING]
        assert {issue.severity for issue in issues} <= {"info"}
        told.append([issue.where for issue in issues])
        assert json.loads(sap.encode(task))["payload"] == payload
    assert told[0] == told[1] == [where for where, _ in secrets(payload, "/payload")]
    return told[0]


@vectors.cases("sap_forms", kind="secrets")
def test_secrets_are_named_by_their_places(case: dict[str, Any]) -> None:
    assert found(case["payload"]) == [f"/payload{place}" for place in case["at"]]


@vectors.cases("sap_forms", kind="certain secret")
def test_only_what_is_one_for_certain_breaks_the_clause(case: dict[str, Any]) -> None:
    line = sap.conformance(json.dumps(changed(TASK, "/payload", case["payload"]))).line("secrets")
    assert (bool(line.faults), bool(line.doubts)) == (case["certain"], not case["certain"])


SECRETS = """password passwd passphrase pwd secret api_key apikey api-key access_key privateKey accessKey token
    credential credentials authorization PASSWORD Secret Client.Secret TOKEN"""
OTHERS = "keyboard author tokens passage crest secretary credo pw kay ecret redential uth"


@pytest.mark.parametrize("name", [*SECRETS.split(), *OTHERS.split()])
def test_names_of_secrets_are_seen_behind_and_before_anything(name: str) -> None:
    camel, long = f"my{name[:1].upper()}{name[1:]}", f"{'x' * 30} {name}"
    seen = [
        bool(found({"a": [{whole: value}]}))
        for whole in (name, f"x_{name}", f"{name}_x", f"a.b-{name}", camel, long, f"é_{name}")
        for value in ("x", "", 5)
    ]
    assert any(seen) is (name in SECRETS.split())


FORMS = (
    *("sk-" + "a1" * 20, "ghp_" + "a1" * 20, "gho_" + "a1" * 20, "github_pat_" + "a1" * 20, "xoxb-" + "a1" * 20),
    *("AIza" + "a" * 35, "AKIAIOSFODNN7EXAMPLE", "Bearer " + "a1" * 12, "Basic " + "a1" * 12),
    *(".".join(["eyJ" + "a" * 12, "eyJ" + "b" * 12, "c" * 12]), "-----BEGIN PRIVATE KEY-----"),
)
URLS = (
    *("postgres://u:pw@h/db", "scheme://user:password@", "a://:b@", "redis://:s3cr3t@cache:6379/0"),
    *("HTTPS://user:p%40ss@example.org/x?y=1", "see amqp+ssl://svc:hunter2@broker:5671 for the queue"),
    *("dsn=mysql://root:toor@localhost,timeout=5", '{"url": "https://a:b@c"}', "http://ok/ then http://u:p@h/"),
    "Wert: ftp://müller:geheim@h",
)
NONE = (
    *(form[:7] for form in FORMS),
    *(
        "https://example.org/x?mail=a:b@c",
        "https://example.org/@user:name@x",
        "ssh://git@host/repo",
        "mail a@b.c, c:d@e",
    ),
    *("://u:p@h", "https://user:@h", "http://h:8080/", "u:p@h", "https://u:p h@x"),
)


@pytest.mark.parametrize("text", [*FORMS, *URLS, *NONE])
def test_values_are_seen_wherever_they_stand(text: str, twin: str) -> None:
    seen = text not in NONE
    assert found({"x": {"y": [1, {"z": [text]}]}}) == ["/payload/x/y/1/z/0"] * seen
    for before in (*range(18), 31, 32, 33, 47, 48, 63, 64, 65) if twin == "native" else (0, 1):
        for fill, tail in ((" ", "."), ("ü", " é"), ("-", " " * 40)):
            whole = {"x": fill * before + (" " if fill == "ü" and text in URLS else "") + text + tail}
            assert bool(found(whole)) is seen or fill == "-", whole


@pytest.mark.parametrize("text", [*FORMS, *URLS[:6]])
def test_values_are_seen_whichever_letter_is_written_as_an_escape(text: str) -> None:
    whole = json.dumps({"text": text}, ensure_ascii=False)
    at = whole.index(text)
    for place in range(at, at + min(len(text), 24)):
        for digits in (f"{ord(whole[place]):04x}", f"{ord(whole[place]):04X}"):
            assert found({"text": text}, f"{whole[:place]}\\u{digits}{whole[place + 1 :]}") == ["/payload/text"], place
    assert found({"text": text}, whole.replace("/", "\\/")) == ["/payload/text"]


@pytest.mark.parametrize("piece", ["@", "a@", "://a:", "://", "//@", "a://b:c", "a"])
def test_hostile_texts_are_searched_once(piece: str) -> None:
    """Each byte is looked at a few times, however many signs of a URL there are: a square would never end."""
    assert found({"x": piece * 30_000}) == []


@pytest.mark.once
@pytest.mark.parametrize(
    ("value", "certain"),
    [
        *((word, False) for word in ("redacted", "removed", "hidden", "none", "null", "REDACTED", "***", "xxxx", "0")),
        *((word, False) for word in ("$PASSWORD", "<password>", "{{ password }}", "[password]", "%PASSWORD%")),
        *((word, False) for word in ("vault:db/password", "env:PASSWORD", "https://vault/password")),
        *((word, True) for word in ("hunter2", "redacted2", "nullify", "hidden-one", "xxxy", "pass word", "12")),
    ],
)
def test_what_stands_for_a_password_is_none(value: str, certain: bool) -> None:
    names = ("password", "passwd", "passphrase", "pwd", "client_secret", "api_key", "accessKey", "private-key")
    for name in (*names, "db_password", "clientSecret"):
        assert is_certain({"payload": {"a": [{name: value}]}}, f"/payload/a/0/{name}") is certain, name
    for name in ("token", "credentials", "authorization", "secret", "password_hint"):
        assert not is_certain({name: value}, f"/{name}")


@pytest.mark.once
def test_the_shortest_secret_is_one() -> None:
    starts = [form[:size] for form in FORMS for size in range(len(form) + 1)]
    shortest = min((start for start in starts if _VALUE.search(start)), key=len)
    assert len(shortest) == SHORTEST
    assert [[*secrets({"a": text}, "")] != [] for text in (shortest, shortest[:-1])] == [True, False]


@pytest.mark.once
def test_secrets_are_told_up_to_some_length_of_their_places() -> None:
    value = {"a/b~": [0, {"password": "x"}, "AKIA0123456789ABCDEF"], "y": ("AKIA0123456789ABCDEF",)}
    where = [place for place, _ in secrets(value, "/payload")]
    assert where == ["/payload/a~1b~0/1/password", "/payload/a~1b~0/2", "/payload/y/0"]
    long = {"k" * 9990: ["AKIA0123456789ABCDEF"] * 900}
    told = [len(place) for place, _ in secrets(long, "/payload")]
    assert sum(told[:-1]) <= MOST_TOLD < sum(told)
