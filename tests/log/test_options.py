"""Wrong arguments are refused in words: options, names, positions, limits."""

from __future__ import annotations

from typing import Any

import pytest

import turnwire
from turnwire import LIMITS, DecodeError, UnknownName
from turnwire.log import plan

pytestmark = pytest.mark.once
LOG = b"@a3|f0|c1|S0|d1|T1#\n"


def read(source: Any = LOG, **options: Any) -> int:
    return sum(len(batch) for batch in turnwire.scan(source, wire=options.pop("wire", "nslip"), **options))


@pytest.mark.parametrize("source", ["", [""], [LOG, ""]], ids=repr)
def test_an_empty_name_is_not_this_directory(source: Any) -> None:
    with pytest.raises(ValueError, match="a source has an empty name"):
        read(source)


def test_a_name_with_a_nul_says_so() -> None:
    with pytest.raises(ValueError, match=r"NUL character in the name of a source: 'a\\x00b'"):
        read("a\0b")


@pytest.mark.parametrize(
    ("option", "value", "error", "text"),
    [
        ("threads", 0, ValueError, "threads must be 1 to 64, not 0"),
        ("threads", 65, ValueError, "threads must be 1 to 64, not 65"),
        ("threads", "2", TypeError, "threads must be a whole number, not str"),
        ("threads", True, TypeError, "threads must be a whole number, not bool"),
        ("batch_bytes", 0, ValueError, "batch_bytes must be at least 1, not 0"),
        ("batch_bytes", -1, ValueError, "batch_bytes must be at least 1, not -1"),
        ("batch_bytes", "x", TypeError, "batch_bytes must be a whole number, not str"),
        ("batch_bytes", 1.5, TypeError, "batch_bytes must be a whole number, not float"),
        ("batch_bytes", None, TypeError, "batch_bytes must be a whole number, not NoneType"),
        ("columns", "offset", TypeError, "columns must be a list of names, not one string"),
        ("columns", ["src", "src"], ValueError, "twice"),
        ("columns", 5, TypeError, "columns must be a list of names, not int"),
        ("columns", [None], TypeError, "columns must be a list of names; None is not a name"),
        ("columns", [["act"]], TypeError, r"columns must be a list of names; \['act'\] is not a name"),
        ("columns", [""], ValueError, "nslip has no column ''; it has file, record"),
        ("errors", "foo", ValueError, "errors must be .* not 'foo'"),
        ("unknown", "foo", ValueError, "unknown must be .* not 'foo'"),
        ("limits", None, TypeError, "limits must be a turnwire.Limits .* not NoneType"),
        ("limits", 1 << 20, TypeError, "limits must be a turnwire.Limits"),
        ("limits", {"message": 9}, TypeError, "limits must be a turnwire.Limits"),
        ("limits", LIMITS._replace(message=0), ValueError, "limits.message"),
        ("limits", LIMITS._replace(message=1 << 40), ValueError, "limits.message"),
        ("progress", "bar", TypeError, "progress"),
        ("where", "src", TypeError, "where must be a dict"),
        ("where", {"nope": 1}, ValueError, "where has no column 'nope' of nslip"),
        ("where", {"conv_id": True}, TypeError, "where: conv_id must be a whole number, not bool"),
        ("wire", "", UnknownName, "'' is not a wire; the wires are nslip"),
        ("wire", "morse", UnknownName, "'morse' is not a wire"),
        ("wire", 3, UnknownName, "3 is not a wire"),
        ("wire", ["nslip"], UnknownName, "is not a wire"),
    ],
)
def test_options(option: str, value: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        read(**{option: value})


@pytest.mark.parametrize("name", ["follow", "borrow", "fences"])
@pytest.mark.parametrize("value", [None, 0, 1, "yes", []], ids=repr)
def test_a_switch_is_true_or_false(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=f"^{name} is True or False, not {type(value).__name__}$"):
        turnwire.scan(LOG, **{name: value})


@pytest.mark.parametrize("name", ["resume", "follow", "progress", "borrow", "threads"])
def test_a_plan_takes_nothing_that_depends_on_where_a_scan_began(name: str, tmp_path: Any) -> None:
    options: dict[str, Any] = {name: True}
    with pytest.raises(ValueError, match=f"^plan does not support {name}$"):
        plan(str(tmp_path), **options)


def test_a_position_is_the_one_that_was_given() -> None:
    """Later changes of it do not matter: each run begins at the same place."""
    place: dict[str, Any] = {"turnwire": 1, "record": 7, "files": []}
    found = turnwire.scan(LOG, resume=place)
    for _ in range(2):
        assert [batch["record"].tolist() for batch in found] == [[7]]
        place["record"] = 99
        place["files"].append("x")
    assert found.position == {"turnwire": 1, "record": 8, "files": []}


@pytest.mark.parametrize("name", LIMITS._fields)
def test_every_limit_is_a_whole_number(name: str) -> None:
    for wrong in ("x", 1.5, None, True):
        with pytest.raises(TypeError, match=f"limits.{name} must be a whole number, not {type(wrong).__name__}"):
            turnwire.scan(LOG, limits=LIMITS._replace(**{name: wrong}))
    for wrong in (-1, 1 << 70):
        with pytest.raises(ValueError, match=f"limits.{name} must be 0 to .*, not {wrong}"):
            turnwire.Decoder(limits=LIMITS._replace(**{name: wrong}))


POSITION = {"turnwire": 1, "record": 0, "files": []}
BROKEN = [{"files": []}, {**POSITION, "turnwire": 2}, {**POSITION, "files": [{}]}]


@pytest.mark.parametrize(
    "token",
    ["", "x", 5, [], False, b"{}", "[]", "null", "1e999", {"record": 0}, "[" * 100_000, "{}x", *BROKEN],
    ids=lambda token: str(token)[:9],
)
def test_what_is_no_position(token: Any) -> None:
    with pytest.raises(DecodeError, match="this is not a position of a scan") as caught:
        read(resume=token)
    assert caught.value.reason == turnwire.Reason.BAD_POSITION


def test_blocks_have_a_size(tmp_path: Any) -> None:
    with pytest.raises(ValueError, match="block_bytes must be at least 1, not 0"):
        plan(str(tmp_path), block_bytes=0)
    with pytest.raises(TypeError, match="block_bytes must be a whole number, not str"):
        plan(str(tmp_path), block_bytes="1")  # type: ignore[arg-type]


class Liar:
    """A file whose ``readinto`` says something else than the truth."""

    def __init__(self, count: Any) -> None:
        self._count = count

    def read(self, size: int) -> bytes:
        raise AssertionError("readinto comes first")

    def readinto(self, view: memoryview) -> Any:
        return self._count


@pytest.mark.parametrize("count", [-1, 1 << 30, "x", 1.0], ids=repr)
def test_a_file_that_lies_is_not_believed(count: Any) -> None:
    with pytest.raises(TypeError, match=r"the file returned .* for a read of up to"):
        read(Liar(count))


class Giver:
    """A file whose ``read`` gives whatever it was told to."""

    def __init__(self, chunk: Any) -> None:
        self._chunk = chunk

    def read(self, size: int) -> Any:
        return self._chunk


@pytest.mark.parametrize(
    ("chunk", "text"),
    [
        (5, "scan reads bytes; the file returned int"),
        ([1], "scan reads bytes; the file returned list"),
        ("x", "open the file in binary mode"),
        (LOG * 10_000, "the file returned 200000 for a read of up to"),
    ],
    ids=["int", "list", "str", "too much"],
)
def test_a_file_that_gives_no_bytes_or_too_many(chunk: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        read(Giver(chunk))
