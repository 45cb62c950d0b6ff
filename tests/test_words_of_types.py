"""What a function says that is given something of another type: what it takes, in words of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.wrong_types import functions, needed

SAID = {
    "csp.check": "a CSP/1 record or a Document is checked",
    "csp.Store.load": "the bytes of a dump are loaded",
    "csp.conformance": "a CSP/1 record, a Document or a text is judged",
    "csp.expand": "the text of a value is expanded",
    "csp.judge_laws": "a Document is judged by its laws",
    "csp.lint": "a Document or a CSP/1 record is judged",
    "csp.message": "a message is made around a block",
    "csp.refs": "the text of a value is read",
    "csp.routing_laws": "laws are a mapping of ids to texts",
    "kick.Monitor().feed": "a monitor is fed envelopes",
    "kick.Policy.from_toml": "a policy is TOML text or the Path of a file",
    "kick.check": "an envelope is checked",
    "kick.conformance": "an envelope or its text is judged",
    "kick.lint": "a Space document is judged",
    "ledger.ConsistencyProof.from_dict": "the fields of a proof are a mapping",
    "ledger.InclusionProof.from_dict": "the fields of a proof are a mapping",
    "ledger.require": "the Verdict of a ledger is required",
    "log.Block.from_dict": "the fields of a block are a dict",
    "log.guarded": "the text of a cell is guarded",
    "log.read_block": "a Block of turnwire.log.plan is read",
    "log.unguarded": "the text of a cell is read",
    "sap.Access.from_toml": "rules are TOML text",
    "sap.Cache().get": "a Task is looked up",
    "sap.Cache().key": "a Task has a key",
    "sap.Cache().put": "the outcome of a Task is stored",
    "sap.LearningLoop().observe": "a Result answers a Task",
    "sap.LearningLoop().record": "a Signal is recorded",
    "sap.Lifecycle().feed": "a Task or a Result is followed",
    "sap.Signal.from_dict": "the fields of a signal are a mapping",
    "sap.authorise": "a principal has a name, which is a str",
    "sap.cache_key": "a Task has a key",
    "sap.check": "a SAP message is checked",
    "sap.conformance": "a SAP object or its text is judged",
    "sap.fingerprint": "a Task has a fingerprint",
    "sap.lint": "a SAP message is judged",
    "slip.announced": "a SlipMessage announces a version",
    "slip.check": "a SlipMessage is checked",
    "slip.conformance": "a SlipMessage or its text is judged",
    "slip.resolve": "the ids of a SlipMessage are resolved",
    "sstp.Session().feed": "a session is fed SSTP messages",
    "sstp.check": "an SSTP message is checked",
    "sstp.conformance": "an SSTP message or its text is judged",
    "turnwire.explain": "a near miss or a DecodeError is explained",
    "turnwire.extract": "the text to search is a str",
    "turnwire.register": "register takes a turnwire.contract.Wire",
}


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[..., Any]]:
    """Public functions by their names; some of their owners write a file."""
    monkeypatch.chdir(tmp_path)
    return dict(functions())


def test_each_says_what_it_takes(known: dict[str, Callable[..., Any]]) -> None:
    for name, said in {**SAID, "csp.board": "a board is made of CSP/1 messages"}.items():
        given: list[Any] = [[3]] if name == "csp.board" else [3] * needed(known[name])
        with pytest.raises(TypeError) as caught:
            known[name](*given)
        assert str(caught.value) == f"{said}, not int", name
