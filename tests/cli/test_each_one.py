"""One by one: bytes that are no text on a terminal, what is no name of a command, names of columns, when a table is
shown, how often a call is measured, the directory of a manifest."""

from __future__ import annotations

import io
from pathlib import Path

import click
import pytest

import turnwire as library
from tests.cli.running import GOOD, turnwire
from turnwire.cli import cluster as spreading
from turnwire.cli.output import Output, Screen
from turnwire.cli.sinks import TableSink

pytestmark = pytest.mark.once


def test_bytes_that_are_no_text_are_shown_on_a_terminal_as_what_they_are() -> None:
    stream = io.BytesIO()
    screen = Screen(stream, "a terminal")
    for piece in (b"a\xffb \xc3", b"\xa4 \xf0\x9f", b"x\n"):
        screen.write(piece)
    assert stream.getvalue() == "a\\xffb ä \\xf0\\x9fx\n".encode()


@pytest.mark.parametrize("name", ["src", " src", "src ", "\tsrc "])
def test_spaces_around_the_name_of_a_column_say_nothing(name: str) -> None:
    log = b"@a3|f0|c1|S7|d1|T1#\n@a3|f0|c1|S8|d1|T2#\n"
    done = turnwire("scan", "--wire", "nslip", "--json", "--columns", "src", "--where", f"{name}=8", "-", stdin=log)
    assert (done.code, done.records) == (0, [{"src": 8}])


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_a_table_is_shown_as_soon_as_it_has_its_rows(limit: int) -> None:
    """A log that is followed may have no end."""
    stream = io.BytesIO()
    found = library.scan(GOOD + b"\n" + GOOD, wire="nslip", columns=["src"])
    sink = TableSink(found, Output(stream, "a file"), limit, None)
    for batch in found:
        sink.take(batch)
    assert sink.full is (limit <= 2)
    before = stream.getvalue()
    sink.finish()
    assert bool(before) is sink.full and stream.getvalue().count(b"\n") >= 1 + min(limit, 2)
    assert before in (b"", stream.getvalue())


@pytest.mark.parametrize(
    ("output", "manifest", "fits"),
    [
        ("out", "out/m", True),
        ("out/", "out/m", True),
        ("./out", "out/m", True),
        ("out", "out/../out/m", True),
        ("link", "out/m", True),
        ("out", "link/m", True),
        ("out", "m", False),
        ("out", "out/below/m", False),
    ],
)
def test_a_manifest_is_in_the_directory_however_that_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str, manifest: str, fits: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "link").symlink_to("out")
    settings = {**dict.fromkeys(spreading.REFUSED), "dask": "local", "errors": "skip"}
    settings |= {"output": output, "resume": manifest}
    if fits:
        spreading.check(settings)
    else:
        with pytest.raises(click.UsageError, match="the manifest in the --output directory"):
            spreading.check(settings)
