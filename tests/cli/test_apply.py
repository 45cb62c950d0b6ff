"""turnwire apply: the file operations of a log, in order, inside one directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import turnwire

pytestmark = pytest.mark.once


def said(number: int, words: str) -> str:
    return f"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT FILE\n\nFILEOP F{number} {words}\n\n"


CREATE = said(1, "CREATE\nPATH a/b.txt\nCONTENT\n<<<\none\ntwo\n>>>")
PATCH = said(2, "PATCH\nPATH a/b.txt\nBASE hash9\nCONTENT\n<<<\n@@ -2,7 +2,9 @@\n-two\n+TWO\n>>>")
OUTSIDE = said(3, "CREATE\nPATH ../x\nCONTENT\n<<<\nx\n>>>")


def test_apply(tmp_path: Path) -> None:
    log, root = tmp_path / "log", tmp_path / "root"
    root.mkdir()
    log.write_text(f"12:00 some log line\n{CREATE}{PATCH}")
    done = turnwire("apply", log, "--root", root, "--dry-run")
    assert done.code == 1, "the patch is planned on the files as they are"
    assert done.out.decode().startswith("F1: would CREATE a/b.txt") and "refused: F2: file_missing" in done.err
    assert list(root.iterdir()) == []
    assert "refused: F2: base_mismatch" in turnwire("apply", log, "--root", root).err
    (root / "a/b.txt").unlink()
    done = turnwire("apply", "-", "--root", root, "--recount", "--trust-base", stdin=log.read_bytes())
    assert (done.code, done.err) == (0, "")
    assert [line.split(":")[0] for line in done.out.decode().splitlines()] == ["F1", "F2"]
    assert (root / "a/b.txt").read_text() == "one\nTWO\n"


def test_what_is_refused(tmp_path: Path) -> None:
    log, root = tmp_path / "log", tmp_path / "root"
    root.mkdir()
    log.write_text(OUTSIDE + CREATE)
    done = turnwire("apply", log, "--root", root)
    assert (done.code, done.out) == (1, b"") and "refused: F3: unsafe_path" in done.err
    assert list(root.iterdir()) == [] and not (tmp_path / "x").exists()
    log.write_text(CREATE + CREATE.replace("PATH a/b.txt\n", ""))
    done = turnwire("apply", log, "--root", root)
    assert done.code == 1 and "damaged: missing_path" in done.err and list(root.iterdir()) == []
    (root / "b").write_text("b")
    log.write_text(CREATE.replace(">>>", "") + said(2, "DELETE\nPATH b"))  # which the first one may only quote
    done = turnwire("apply", log, "--root", root)
    assert (done.code, done.out) == (1, b"") and "damaged: unclosed_heredoc" in done.err
    assert list(root.iterdir()) == [root / "b"]
    for text, more in (("nothing\n", []), ("", ["is empty"])):
        log.write_text(text)
        done = turnwire("apply", log, "--root", root)
        assert done.code == 4
        assert [line.rpartition(": ")[2] for line in done.err.splitlines()] == ["no FILEOP found", *more]
