"""Arguments that name what there is not: one family of errors for all, which no ``except DecodeError`` hides."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

import turnwire
from tests.conftest import raised
from turnwire import csp, kick, ledger, nslip, sap, sstp, tokens
from turnwire.errors import (
    ConvertError,
    DecodeError,
    EncodeError,
    Reason,
    RuleError,
    UnknownKey,
    UnknownName,
    WireError,
    expect_number,
    nearest,
)
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
    error = raised(UnknownName, slip)
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
    caught = raised(turnwire.DecodeError, turnwire.decode, b"nothing")
    assert (caught.reason, caught.offset) == (Reason.UNKNOWN_WIRE, 0)


@given(st.text(max_size=200), st.lists(st.text(max_size=20), max_size=6))
def test_a_guess_is_one_of_the_names(name: str, known: list[str]) -> None:
    guess = nearest(name, known)
    assert guess is None or guess in known
    assert str(UnknownName("column", name, known))


def test_nothing_is_guessed_where_nothing_is_near() -> None:
    assert nearest("morse", turnwire.WIRES) is None
    assert nearest(5, turnwire.WIRES) is None
    assert nearest("n" * 100_000, turnwire.WIRES) is None


# --- errors keep all they know in copies and in pickles, and say where they are in one way ----------------------------


PLACE: dict[str, Any] = {"offset": 7, "line": 2, "wire": "csp", "path": "/a"}


def _decode() -> DecodeError:
    error = DecodeError(Reason.BAD_ID, "words", **PLACE)
    error.pending, error.raw = 3, b"raw"
    return error


ERRORS: list[Exception] = [
    WireError(Reason.BAD_ID, "words", **PLACE),
    WireError(Reason.BAD_ID),
    _decode(),
    DecodeError(Reason.BAD_ID, offset=0, line=1),
    EncodeError(Reason.BAD_ID, "words", path="/a"),
    RuleError(Reason.BAD_ID, "words", rule="001", **PLACE),
    ConvertError(
        Reason.NO_COUNTERPART, "w", missing=["a", "b"], known={"a": 1}, there=["x"], nearest="x", wire="sap", path="a"
    ),
    UnknownName("wire", "nslp", ("nslip", "csp")),
    UnknownName("column", "sorce", ("source",), "words", wires=("csp", "kick")),
    UnknownKey("column", "sorce", ("source",), "words", wires=("csp",)),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_is_the_same_in_copies_and_pickles(error: Exception) -> None:
    for other in (copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
        assert type(other) is type(error) and vars(other) == vars(error)
        assert (str(other), repr(other), other.args) == (str(error), repr(error), error.args)


def test_an_error_of_a_file_without_a_byte_has_its_line() -> None:
    for place, words in (
        ({}, ""),
        ({"offset": 0}, " at byte 0"),
        ({"line": 3}, " at line 3"),
        ({"offset": 5, "line": 3}, " at byte 5, line 3"),
        ({"line": 3, "path": "/a"}, " at line 3 in /a"),
        ({"path": "/a"}, " in /a"),
    ):
        assert str(WireError(Reason.BAD_ID, **place)) == f"bad_id{words}"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("least", "most", "right", "wrong"),
    [
        (None, None, (-(10**30), -1, 0, 1), ()),
        (1, None, (1, 2, 10**30), (0, -1)),
        (1, 3, (1, 2, 3), (0, 4)),
        (0, 0, (0,), (-1, 1)),
    ],
)
def test_a_number_lies_within_its_bounds(
    least: int | None, most: int | None, right: tuple[int, ...], wrong: tuple[int, ...]
) -> None:
    for value in right:
        assert expect_number(value, "size", least, most) == value
    for value in wrong:
        with pytest.raises(ValueError, match="size must be "):
            expect_number(value, "size", least, most)
    for other in (True, 1.0, "1", None):
        with pytest.raises(TypeError, match="size must be a whole number, not "):
            expect_number(other, "size", least, most)
