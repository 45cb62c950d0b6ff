"""Names on the command line: empty ones, and files that hold something else than they should."""

from __future__ import annotations

from pathlib import Path

import pytest

import turnwire as library
from tests.cli.running import GOOD, turnwire

pytestmark = pytest.mark.once

DEEP = "[" * 200_000


@pytest.mark.parametrize(
    "arguments",
    [
        ["scan", "{log}", "--output", ""],
        ["scan", "{log}", "--rejects", ""],
        ["scan", "{log}", "--resume", ""],
        ["report", "{log}", "-o", ""],
        ["tokens", "{log}", "--html", ""],
        ["tokens", "{log}", "--context", ""],
        ["convert", "{log}", "--to", "csp", "--context", ""],
        ["session", "pack", "{log}", "-o", ""],
        ["session", "unpack", "{log}", "-o", ""],
        ["verify", ""],
        ["verify", "{log}", "--head", ""],
        ["replay", "{log}", "--at", ""],
        ["replay", "{log}", "--name", ""],
        ["bench", "--data", ""],
    ],
    ids=" ".join,
)
def test_an_empty_name_is_wrong_usage(log: Path, arguments: list[str]) -> None:
    done = turnwire(*(argument.format(log=log) for argument in arguments))
    assert (done.code, done.out) == (2, b"")
    assert "the name is empty" in done.err


@pytest.mark.parametrize(
    "command", ["scan", "stats", "validate", "tokens", "conform nslip", "convert --to csp", "replay"]
)
def test_an_empty_source_is_not_this_directory(log: Path, command: str) -> None:
    done = turnwire(*command.split(), "", log)
    assert (done.code, done.out) == (3, b"")
    assert done.err == "turnwire: '': a source has an empty name; write '.' for this directory\n"


@pytest.mark.parametrize("text", [DEEP, "null", "false", "[]", "", "{", "\udcff"], ids=lambda text: repr(text[:5]))
def test_a_file_without_a_position(log: Path, tmp_path: Path, text: str) -> None:
    place = tmp_path / "place.json"
    place.write_bytes(text.encode("utf-8", "surrogateescape"))
    done = turnwire("scan", log, "--resume", place)
    assert (done.code, done.out) == (2, b"")
    assert "holds no position of a scan" in done.err
    assert place.read_bytes() == text.encode("utf-8", "surrogateescape")


@pytest.mark.parametrize("arguments", [["convert", "--to", "csp"], ["tokens", "--advise"]], ids=["convert", "tokens"])
@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("deep.toml", f"a = {DEEP}", "this is not TOML"),
        ("deep.json", DEEP, "this is not JSON"),
        ("half.JSON", "{", "this is not JSON"),
        ("half.toml", "{", "this is not TOML"),
        ("list.json", "[]", "bad_context: a context is a table"),
    ],
)
def test_a_context_that_is_none(
    log: Path, tmp_path: Path, arguments: list[str], name: str, text: str, said: str
) -> None:
    (tmp_path / name).write_text(text)
    done = turnwire(*arguments, log, "--context", tmp_path / name)
    assert (done.code, done.out) == (2, b"")
    assert f"{name}: {said}" in done.err


@pytest.mark.parametrize("text", [DEEP, '{"a":' * 200_000, "null", ""], ids=["lists", "objects", "null", "empty"])
def test_a_head_that_is_none_is_named(log: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "kept.json").write_text(text)
    done = turnwire("verify", log, "--head", tmp_path / "kept.json")
    assert (done.code, done.out) == (2, b"")
    assert f"kept.json holds no head of a ledger: {'' if text else 'it is empty'}" in done.err


@pytest.mark.parametrize(
    ("arguments", "guess"),
    [
        (["scan", "{log}", "--errors", "colect"], "did you mean 'collect'?"),
        (["scan", "{log}", "--format", "parqet"], "did you mean 'parquet'?"),
        (["scan", "{log}", "--partition-by", "days"], "did you mean 'day'?"),
        (["scan", "{log}", "--unknown", "kep"], "did you mean 'keep'?"),
        (["scan", "{log}", "-o", "x.parqet"], "did you mean '.parquet'?"),
        (["scan", "{log}", "--where", "actt=EVAL"], "did you mean 'act'; with --wire nslip there is one"),
        (["scan", "{log}", "--columns", "scroe"], "did you mean 'score'; with --wire nslip there is one"),
        (["scan", "{log}", "--columns", "sendr"], "did you mean 'sender'?"),
        (["scan", "{log}", "--wire", "nslip", "--where", "act=EVALL"], "did you mean 'EVAL'?"),
        (["scan", "{log}", "--wire", "nslp"], "did you mean 'nslip'?"),
        (["tokens", "{log}", "--per", "mesage"], "did you mean 'message'?"),
        (["tokens", "{log}", "--tokenizer", "o200kbase"], "did you mean 'o200k_base'?"),
        (["validate", "{log}", "--mode", "linse"], "did you mean 'lines'?"),
        (["convert", "{log}", "--to", "cps"], "did you mean 'csp'?"),
        (["stat", "{log}"], "did you mean 'stats'?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_misspelt_is_guessed(log: Path, arguments: list[str], guess: str) -> None:
    done = turnwire(*(argument.format(log=log) for argument in arguments))
    assert (done.code, done.out) == (2, b"")
    assert done.err.endswith(f"{guess}\n")


def test_errors_name_options_of_the_command_line(log: Path, tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(GOOD.replace(b"@a3", b"@a4"))
    for option in ((), ("--json",)):
        done = turnwire("convert", tmp_path / "one", "--to", "sap", *option)
        told = done.err + done.out.decode()
        assert "the nearest is Task, which --nearest takes" in told and "nearest=True" not in told
    with pytest.raises(library.ConvertError, match="nearest=True takes"):
        library.convert(library.decode((tmp_path / "one").read_bytes()), "sap")
    done = turnwire("scan", log, "--columns", "line", "--partition-by", "day", "-o", tmp_path / "x")
    assert (done.code, "Error: --partition-by day needs the column 'time'" in done.err) == (2, True)
