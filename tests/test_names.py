"""Arguments that name what there is not: one family of errors for all, which no ``except DecodeError`` hides."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

import turnwire
from turnwire import csp, kick, ledger, nslip, sap, sstp, tokens
from turnwire.errors import Reason, UnknownName, WireError, nearest
from turnwire.log.output.outputs import format_of, writer
from turnwire.read.located import specification
from turnwire.tokens.tokenizer import vocabulary

pytestmark = pytest.mark.once

LINE = b"@a3|f0|c1|S0|d1|T1|g1#\n"
MESSAGE = nslip.decode(LINE.strip())


def batch(wire: str | None = "nslip") -> turnwire.Batch:
    (only,) = turnwire.scan(LINE, wire=wire)
    return only


def agent(**options: Any) -> None:
    sap.Agent("one").capability("double", **options)(lambda payload: payload)


SLIPS: list[tuple[str, Callable[[], Any], str | None]] = [
    ("decode", lambda: turnwire.decode(LINE, "nslp"), "nslip"),
    ("decode of a name in capitals", lambda: turnwire.decode(LINE, "NSLIP"), "nslip"),
    ("scan", lambda: turnwire.scan(LINE, wire="nslp"), "nslip"),
    ("Decoder", lambda: turnwire.Decoder("sstq"), "sstp"),
    ("extract", lambda: turnwire.extract("x", ("kik",)), "kick"),
    ("extract of one", lambda: turnwire.extract("x", "kik"), "kick"),
    ("convert", lambda: turnwire.convert(MESSAGE, "snstp"), "sstp"),
    ("Converter", lambda: turnwire.Converter("sapp"), "sap"),
    ("prompt", lambda: turnwire.prompt("cps"), "csp"),
    ("size of a prompt", lambda: turnwire.prompt("csp", "shrt"), "short"),
    ("a column", lambda: turnwire.scan(LINE, wire="nslip", columns=["con_id"]), "conv_id"),
    ("a column of all wires", lambda: turnwire.scan(LINE, columns=["reciever"]), "receiver"),
    ("where", lambda: turnwire.scan(LINE, where={"sendr": "3"}), "sender"),
    ("a wire in where", lambda: turnwire.scan(LINE, wire="nslip", where={"wire": "nslp"}), "nslip"),
    ("a kind in where", lambda: turnwire.scan(LINE, wire="nslip", where={"act": "RQUEST"}), "REQUEST"),
    ("errors", lambda: turnwire.scan(LINE, errors="colect"), "collect"),
    ("unknown", lambda: turnwire.scan(LINE, unknown="kep"), "keep"),
    ("unknown of decode", lambda: nslip.decode(LINE.strip(), unknown="eror"), "error"),
    ("unknown of a Decoder", lambda: turnwire.Decoder("nslip", unknown="kep"), "keep"),
    ("mode of CSP/1", lambda: csp.decode("", mode="lenint"), "lenient"),
    ("mode of Space", lambda: kick.parse_space("#a\n", mode="stict"), "strict"),
    ("a format to write", lambda: format_of("a", "parqet"), "parquet"),
    ("formulas", lambda: writer(None, (), "csv", formulas="gard"), "guard"),
    ("a tokenizer", lambda: vocabulary("o200k_bas"), "o200k_base"),
    ("per", lambda: tokens.compare([MESSAGE], per="mesage"), "message"),
    ("a wire to compare with", lambda: tokens.compare([MESSAGE], wires=("nsip",)), "nslip"),
    ("a format to compare with", lambda: tokens.compare([MESSAGE], formats=("tooon",)), "toon"),
    ("redeliver", lambda: agent(redeliver="fial"), "fail"),
    ("a checklist", lambda: specification("nslp"), "nslip"),
    ("a decoder of a batch", lambda: batch().decoder("nslp"), "nslip"),
    ("a decoder of a batch of all wires", lambda: batch(wire=None).decoder("nslp"), "nslip"),
    ("a kind of a JSON Schema", lambda: sstp.json_schema("qery"), "query"),
    ("a tokenizer of a comparison", lambda: tokens.compare([MESSAGE], formats=()).sorted("o200k_bas"), "o200k_base"),
]


def test_one_name_is_a_choice_of_wires() -> None:
    text = LINE.decode()
    assert turnwire.extract(text, "nslip") == turnwire.extract(text, ("nslip",)) != []
    assert turnwire.extract(text, "csp") == []
    rows = tokens.compare([MESSAGE], wires="nslip", formats=()).rows
    assert [row.format for row in rows] == ["nslip"]


@pytest.mark.parametrize(("slip", "meant"), [pytest.param(*rest, id=name) for name, *rest in SLIPS])
def test_a_slip_is_an_unknown_name(slip: Callable[[], Any], meant: str | None) -> None:
    with pytest.raises(UnknownName) as caught:
        slip()
    error = caught.value
    assert isinstance(error, ValueError)
    assert not isinstance(error, WireError), "who forgives what is wrong with a message does not forgive this"
    assert error.nearest == meant
    assert str(error).endswith(f"did you mean {meant!r}?")
    assert repr(error.name) in str(error)
    assert error.reason is (Reason.UNKNOWN_WIRE if error.what == "wire" else Reason.UNKNOWN_NAME)


def test_a_ledger_has_names_too(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean 'FULL'"):
        ledger.Ledger(tmp_path / "one.db", synchronous="ful")
    assert not (tmp_path / "one.db").exists()


def test_square_brackets_raise_a_key_error_of_that_family() -> None:
    scan = turnwire.scan(LINE + b"@a3|f0|c$#\n", wire="nslip")
    (batch,) = scan
    for columns, name, meant in ((batch, "conv", "conv_id"), (scan.rejects, "resaon", "reason")):
        for family in (KeyError, UnknownName):
            for asked in (columns.__getitem__, columns.valid):
                with pytest.raises(family, match=f"did you mean '{meant}'"):
                    asked(name)


def test_a_column_that_one_wire_has_is_told_with_that_wire() -> None:
    for slip in (lambda: turnwire.scan(LINE, columns=["conv_id"]), lambda: turnwire.scan(LINE, where={"conv_id": 1})):
        with pytest.raises(UnknownName, match="with wire='nslip' there is one") as caught:
            slip()
        assert caught.value.wires == ("nslip",)
    with pytest.raises(UnknownName) as caught:
        turnwire.scan(LINE, wire="csp", columns=["conv_id"])
    assert caught.value.wires == (), "a wire was named"


def test_no_message_is_still_a_fault_of_the_bytes() -> None:
    with pytest.raises(turnwire.DecodeError) as caught:
        turnwire.decode(b"nothing")
    assert (caught.value.reason, caught.value.offset) == (Reason.UNKNOWN_WIRE, 0)


@given(st.text(max_size=200), st.lists(st.text(max_size=20), max_size=6))
def test_a_guess_is_one_of_the_names(name: str, known: list[str]) -> None:
    guess = nearest(name, known)
    assert guess is None or guess in known
    assert str(UnknownName("column", name, known))


def test_nothing_is_guessed_where_nothing_is_near() -> None:
    assert nearest("morse", turnwire.WIRES) is None
    assert nearest(5, turnwire.WIRES) is None
    assert nearest("n" * 100_000, turnwire.WIRES) is None
