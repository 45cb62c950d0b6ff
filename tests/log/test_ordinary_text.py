"""Ordinary text holds no record and no reject: the texts of ``ordinary.logs``, and what is installed."""

from __future__ import annotations

import io
import json
import re
import sysconfig
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from tests.clauses import parts
from turnwire import scan
from turnwire.nslip.spec import CANDIDATE

TEXTS = {name: text.decode() for name, text in parts(Path(__file__).with_name("ordinary.logs"))}
_LINES = TEXTS.pop("objects").splitlines()
TEXTS["json"] = "".join(f"INFO {line}\n{line}{line}\n[{line}]\n" for line in _LINES)
_PRETTY = (json.dumps(json.loads(line), indent=2, ensure_ascii=False) for line in _LINES)
TEXTS["pretty_json"] = "".join(f"INFO {text}\n" for text in _PRETTY)
TORN = [f"INFO {line[:size]}\n" for line in _LINES for size in range(17, len(line), 17)]

WIRES = (None, "nslip", "csp", "sstp", "sap", "kick")
# By definition `@composite|` and `@catch|` are candidates. The sources of a lexer and the documentation of one library
# hold some: they are left out here, as nothing but the definition could tell.
_NEAR = re.compile(CANDIDATE)
MOST_BYTES = 3 << 18
SUFFIXES = {".py", ".js", ".json", ".md", ".txt", ".rst", ".html", ".css", ".ts", ".h"}


def nothing_in(data: bytes, wire: str | None, batch_bytes: int = 1 << 20) -> None:
    found = scan(io.BytesIO(data), wire=wire, batch_bytes=batch_bytes)
    assert (sum(map(len, found)), [one for one in found.rejects.rows() if one["reason"]]) == (0, []), wire
    assert found.counts.bytes == found.counts.text_bytes == len(data)


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("name", TEXTS)
def test_texts_of_many_kinds(name: str, wire: str | None) -> None:
    text = TEXTS[name]
    lines = text.splitlines(keepends=True)
    forms = [text, text.replace("\n", "\r\n"), json.dumps({"log": text}), json.dumps(lines), "".join(lines[::-1])]
    for form in forms if wire is None else forms[:1]:
        nothing_in(form.encode(), wire)
    nothing_in(text.encode(), wire, batch_bytes=7)


@pytest.mark.usefixtures("scan_core")
def test_objects_that_are_cut_off() -> None:
    for text in TORN:
        nothing_in(text.encode(), None)


def installed(packages: bool) -> Iterator[Path]:
    """Sources and texts of the standard library, or of what else is installed, in the order of their names: found one
    after the other, as far as somebody asks."""
    paths = sysconfig.get_paths()
    return _below(Path(paths["purelib"] if packages else paths["stdlib"]))


def _below(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name == "site-packages" or "turnwire" in path.name:
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _below(path)
        elif path.suffix in SUFFIXES and path.is_file():
            yield path


@pytest.mark.parametrize("packages", [False, True], ids=["standard library", "packages"])
@pytest.mark.usefixtures("scan_core")
def test_what_is_installed(packages: bool, scan_core: str) -> None:
    """So many bytes of it, every tenth file; a seventh of that with the pure core."""
    most = MOST_BYTES if scan_core == "native" else MOST_BYTES // 7
    size = files = 0
    for path in islice(installed(packages), 0, None, 10):
        files += 1
        data = path.read_bytes()
        data = _NEAR.sub(b"-", data)
        for wire in WIRES if len(data) < 1 << 16 else (None, "csp"):
            nothing_in(data, wire)
        size += len(data)
        if size > most:
            break
    assert size > 100_000 or not files
