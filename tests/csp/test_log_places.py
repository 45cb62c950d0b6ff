"""Preambles count wherever a scan finds the messages behind them: in strings of JSON, behind prefixes, indented."""

from __future__ import annotations

import json

import pytest

from turnwire import LIMITS, csp
from turnwire.checklists import PASS
from turnwire.read.judging import conform

LOG = (
    "DEF SRC = src/\nDEF API = api/\n\nLAWS\n- L1: Web search -> WEB_RES only\n\n"
    "CSP/1\nFROM MAIN\nTO CODER\nCTX C0\nINTENT PATCH\n\nPATCH P1\nBASE C0\n+ DEF LIB = lib/\n- DEF API\nAPPLY -> C1\n"
)
PLACES = {
    "lines": LOG,
    "a string": json.dumps({"msg": LOG}) + "\n",
    "a string in a string": json.dumps({"a": json.dumps({"msg": LOG})}) + "\n",
    "one prefix": "".join(f"10:00 bus: {line}\n" for line in LOG.splitlines()),
    "an indent": "".join(f"    {line}\n" if line else "\n" for line in LOG.splitlines()),
}


@pytest.mark.parametrize("place", PLACES)
def test_the_state_is_the_same_wherever_a_log_stands(place: str) -> None:
    document, damaged = csp.read_log(PLACES[place].encode())
    assert damaged == []
    store = csp.replay(document).store
    assert dict(store.at("C1").defs) == {"SRC": "src/", "LIB": "lib/"}
    assert dict(store.at("C1").laws) == {"L1": "Web search -> WEB_RES only"}
    judged = conform("csp", PLACES[place].encode())
    assert judged.line("state").status == PASS


@pytest.mark.parametrize("place", PLACES)
def test_what_is_wrong_in_a_preamble_is_told(place: str) -> None:
    broken = {name: text.replace("DEF SRC = src/", "DEF src = src/") for name, text in PLACES.items()}
    _, damaged = csp.read_log(broken[place].encode())
    assert [str(error.reason) for error in damaged] == [
        str(error.reason) for error in csp.read_log(broken["lines"].encode())[1]
    ]
    twice = {name: text.replace("DEF API = api/", "DEF SRC = api/") for name, text in PLACES.items()}
    _, damaged = csp.read_log(b"first\n" + twice[place].encode())
    assert [(str(error.reason), error.line) for error in damaged] == [("def_exists", 2 if "string" in place else 3)]


def test_what_a_limit_cuts_off_a_message_is_text_and_may_be_a_preamble() -> None:
    text = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT MEM\n\nMEM M1\n<<<\n" + "x\n" * 9 + "```\nDEF A = b\n\n>>>\n\n"
    for message, found in ((20, [csp.Preamble({"A": "b"})]), (1000, [])):
        assert csp.read_log(text, limits=LIMITS._replace(message=message)).document.records == found


def test_a_template_inside_an_unclosed_heredoc_is_one() -> None:
    document, damaged = csp.read_log("CSP/1\nINTENT RESULT\n<<<\nCSP/1;x\nCSP/1")
    assert document.records == [csp.Template(["x"])] and len(damaged) == 1


def test_text_with_a_zero_byte_names_no_file() -> None:
    assert csp.read_log("a\0/*") == (csp.Document([]), [])
