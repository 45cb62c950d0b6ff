"""``turnwire replay``: the state at any point, the history of a name, and what it holds besides; ``turnwire apply``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import turnwire
from turnwire import csp
from turnwire.ledger import Ledger

pytestmark = pytest.mark.once


def patch(number: int, *ops: tuple[str, str, str | None], base: int | None = None) -> str:
    block = csp.Patch(f"P{number}", f"C{number - 1 if base is None else base}", list(ops), f"C{number}")
    return csp.encode(csp.message("MAIN", "ALL", f"C{number - 1}", block))


GOOD = (
    "2026-05-04 INFO started\nDEF SRC = src/\nDEF LIB = lib/\n\nLAWS\n- L1: search -> WEB only\n\n"
    + patch(1, ("~", "SRC", "source/"), ("+", "NEW", "x y"))
    + "\n2026-05-04 INFO working\n"
    + patch(2, ("-", "NEW", None), ("~", "SRC", "s/\x1b[31m"))
)
BAD = GOOD + patch(3, ("+", "SRC", "again")) + "CSP/1\nFROM MAIN\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "a.log"
    path.write_text(GOOD)
    return path


def test_the_state_at_the_end_and_before(log: Path) -> None:
    done = turnwire("replay", log)
    head, *lines = done.out.decode().splitlines()
    assert (done.code, done.err) == (0, "")
    assert head.startswith("C2 (C1 and P2, entry 2) sha256:")
    assert lines == ["DEF LIB = lib/", "DEF SRC = s/\\x1b[31m", "L1: search -> WEB only"]
    head, *lines = turnwire("replay", log, "--at", "C1").out.decode().splitlines()
    assert head.startswith("C1 (C0 and P1, entry 1; the last is C2) sha256:")
    assert lines == ["DEF LIB = lib/", "DEF NEW = x y", "DEF SRC = source/", "L1: search -> WEB only"]
    assert turnwire("replay", log, "--at", "C0").out.decode().splitlines()[1:3] == ["DEF LIB = lib/", "DEF SRC = src/"]


def test_what_is_defined_later_is_told_and_is_no_fault(log: Path) -> None:
    log.write_text(GOOD + "\nDEF LATE = x\n")
    done = turnwire("replay", log)
    assert done.code == 0 and b"LATE" not in done.out
    assert f"{log}:{GOOD.count(chr(10)) + 2}: refused: restate" in done.err


def test_the_history_of_a_name(log: Path) -> None:
    assert turnwire("replay", log, "--name", "SRC").out.decode().splitlines() == [
        "C0 init: SRC = src/",
        "C1 P1 by MAIN, entry 1: SRC = source/ (was src/)",
        "C2 P2 by MAIN, entry 2: SRC = s/\\x1b[31m (was source/)",
    ]
    assert turnwire("replay", log, "--name", "NEW").out.decode().splitlines()[1] == (
        "C2 P2 by MAIN, entry 2: NEW removed (was x y)"
    )
    assert len(turnwire("replay", log, "--name", "SRC", "--at", "C1").out.splitlines()) == 2
    never = turnwire("replay", log, "--name", "NONE")
    assert never == (1, b"", "NONE is not defined at C2 or before\n")
    assert turnwire("replay", log, "--name", "NONE", "--json") == never
    assert turnwire("replay", log, "--name", "NEW", "--at", "C0") == (1, b"", "NEW is not defined at C0 or before\n")
    assert turnwire("replay", log, "--name", "x\x1b[31m").err == "x\\x1b[31m is not defined at C2 or before\n"


def test_json(log: Path) -> None:
    (record,) = turnwire("replay", log, "--json", "--at", "C1").records
    store = csp.replay(csp.read_log(GOOD)[0]).store
    assert record == {
        "checkpoint": "C1",
        "parent": "C0",
        "patch": "P1",
        "entry": 1,
        "digest": store.at("C1").digest,
        "defs": {"LIB": "lib/", "NEW": "x y", "SRC": "source/"},
        "laws": {"L1": "search -> WEB only"},
    }
    records = turnwire("replay", log, "--json", "--name", "SRC").records
    assert [(one["name"], one["checkpoint"], one["old"], one["new"]) for one in records] == [
        ("SRC", "C0", None, "src/"),
        ("SRC", "C1", "src/", "source/"),
        ("SRC", "C2", "source/", "s/\x1b[31m"),
    ]
    assert b"\x1b" not in turnwire("replay", log, "--json").out


def test_what_cannot_be_applied_is_named_and_changes_nothing(tmp_path: Path) -> None:
    done = turnwire("replay", "-", "--json", stdin=BAD.encode())
    assert done.code == 1
    assert done.records[0]["checkpoint"] == "C2"
    lines = BAD.split("\n")
    third, last = (place for place, line in enumerate(lines, 1) if line == "CSP/1" and place > 30)
    assert done.err.splitlines() == [
        f"<stdin>:{third}: refused: def_exists in P3: SRC is already defined",
        f"<stdin>:{last}: damaged: missing_to: the header has no TO",
    ]


def test_messages_in_an_unclosed_heredoc_are_not_applied() -> None:
    opened = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT MEM\n\nMEM M\nK\n<<<\n"
    done = turnwire("replay", "-", stdin=(opened + patch(1, ("+", "A", "1"))).encode())
    assert done.code == 1
    assert done.out.startswith(b"C0 (init) ")
    assert "damaged: unclosed_heredoc" in done.err
    assert "refused: inside_unclosed_heredoc" in done.err


def test_a_patch_of_an_old_checkpoint_is_refused() -> None:
    text = patch(1, ("+", "A", "1")) + patch(2, ("+", "B", "1"), base=0)
    assert turnwire("replay", "-", stdin=text.encode()).code == 1


NEEDED = "a replay needs the log from its beginning"


def test_a_log_without_its_beginning_is_told_what_it_lacks() -> None:
    tail = "".join(patch(number, ("+", f"N{number}", "1")) for number in (5, 6, 7))
    done = turnwire("replay", "-", stdin=tail.encode())
    lines = done.err.splitlines()
    assert done.code == 1
    assert [line.split(": ")[1:3] for line in lines[:-1]] == [["refused", "ctx_unknown in C4"]] + [
        ["refused", f"ctx_unknown in C{number}"] for number in (5, 6)
    ]
    assert lines[-1].startswith(NEEDED)
    assert sum(NEEDED in line for line in lines) == 1
    assert NEEDED not in turnwire("replay", "-", stdin=BAD.encode()).err, "what is wrong there is not missing"


def test_a_log_without_csp() -> None:
    done = turnwire("replay", "-", stdin=b"nothing here\n")
    assert (done.code, done.err) == (4, "<stdin>: no CSP/1 message found\n")
    assert done.out == b""


def test_a_ledger_that_a_store_was_kept_in(tmp_path: Path) -> None:
    path = tmp_path / "store.ledger"
    with Ledger(path) as ledger:
        store = csp.Store({"A": "1"}, journal=ledger)
        store.apply(patch(1, ("~", "A", "2")))
    (record,) = turnwire("replay", path, "--json").records
    assert (record["defs"], record["digest"]) == ({"A": "2"}, store.at("C1").digest)
    damaged = path.read_bytes().replace(b"~ DEF A := 2", b"~ DEF A := 3")
    (tmp_path / "damaged").write_bytes(damaged)
    done = turnwire("replay", tmp_path / "damaged")
    assert (done.code, done.out) == (1, b"")
    assert "ledger_broken" in done.err
    assert "entry 2" in done.err


def test_wrong_use(log: Path) -> None:
    unknown = turnwire("replay", log, "--at", "C9")
    assert (unknown.code, unknown.out) == (1, b"")
    assert "checkpoint_unknown" in unknown.err
    assert (turnwire("replay", "-", stdin=b"").code, turnwire("replay", "-", stdin=b"").out) == (4, b"")
    assert turnwire("replay", "-", stdin=b"DEF A = 1\n").out.startswith(b"C0 (init) sha256:")
    assert turnwire("replay", "-", "--json", stdin=b"\xff\0").code == 4


def test_what_leads_from_one_checkpoint_to_another(log: Path) -> None:
    assert turnwire("replay", log, "--diff", "C0", "C1").out.decode().splitlines() == [
        "+ DEF NEW = x y",
        "~ DEF SRC := source/",
    ]
    assert turnwire("replay", log, "--diff", "C1", "C2").out == b"- DEF NEW\n~ DEF SRC := s/\\x1b[31m\n"
    assert turnwire("replay", log, "--diff", "C2", "C2") == (0, b"", "")
    (record,) = turnwire("replay", log, "--diff", "C1", "C0", "--json").records
    assert record == {"from": "C1", "to": "C0", "ops": [["-", "NEW", None], ["~", "SRC", "src/"]]}
    assert turnwire("replay", log, "--diff", "C0", "C9").code == 1


# --- turnwire apply: the file operations of a log, in order, inside one directory -------------------------------------


def said(number: int, words: str) -> str:
    return f"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT FILE\n\nFILEOP F{number} {words}\n\n"


NEW_FILE = said(1, "CREATE\nPATH a/b.txt\nCONTENT\n<<<\none\ntwo\n>>>")
PATCH = said(2, "PATCH\nPATH a/b.txt\nBASE hash9\nCONTENT\n<<<\n@@ -2,7 +2,9 @@\n-two\n+TWO\n>>>")
OUTSIDE = said(3, "CREATE\nPATH ../x\nCONTENT\n<<<\nx\n>>>")


def test_apply(tmp_path: Path) -> None:
    log, root = tmp_path / "log", tmp_path / "root"
    root.mkdir()
    log.write_text(f"12:00 some log line\n{NEW_FILE}{PATCH}")
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
    log.write_text(OUTSIDE + NEW_FILE)
    done = turnwire("apply", log, "--root", root)
    assert (done.code, done.out) == (1, b"") and "refused: F3: unsafe_path" in done.err
    assert list(root.iterdir()) == [] and not (tmp_path / "x").exists()
    log.write_text(NEW_FILE + NEW_FILE.replace("PATH a/b.txt\n", ""))
    done = turnwire("apply", log, "--root", root)
    assert done.code == 1 and "damaged: missing_path" in done.err and list(root.iterdir()) == []
    (root / "b").write_text("b")
    log.write_text(NEW_FILE.replace(">>>", "") + said(2, "DELETE\nPATH b"))  # which the first one may only quote
    done = turnwire("apply", log, "--root", root)
    assert (done.code, done.out) == (1, b"") and "damaged: unclosed_heredoc" in done.err
    assert list(root.iterdir()) == [root / "b"]
    for text, more in (("nothing\n", []), ("", ["is empty"])):
        log.write_text(text)
        done = turnwire("apply", log, "--root", root)
        assert done.code == 4
        assert [line.rpartition(": ")[2] for line in done.err.splitlines()] == ["no FILEOP found", *more]
