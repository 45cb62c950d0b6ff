"""Every command that reads logs takes what the library takes: files, folders, globs, standard input, URLs, packed or
not; without what reads them it says what to install."""

from __future__ import annotations

import gzip
import json
import re
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import GOOD, Finished, needs_posix, on_terminal, process, turnwire, unprivileged
from tests.conftest import put

pytestmark = pytest.mark.once

fsspec: Any = pytest.importorskip("fsspec")
zstandard: Any = pytest.importorskip("zstandard")

NSLIP = GOOD + b"\n" + GOOD.replace(b"d1", b"d2") + b"\n"
CSP = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT FILE\n\nFILEOP F1 CREATE\nPATH b.txt\nCONTENT\n<<<\none\n>>>\n\n"
LINES = b'{"a":1}\n{"a":2}\n'
COMMANDS: dict[str, tuple[bytes, int, tuple[str, ...], tuple[str, ...]]] = {
    "scan": (NSLIP, 0, ("scan", "-q"), ()),
    "scan to a file": (NSLIP, 0, ("scan", "-q", "--format", "ndjson", "-o", "-"), ()),
    "validate": (NSLIP, 0, ("validate",), ()),
    "stats": (NSLIP, 0, ("stats",), ()),
    "tokens": (NSLIP, 0, ("tokens",), ()),
    "report": (NSLIP, 0, ("report", "-o", "-"), ()),
    "convert": (NSLIP, 0, ("convert", "--to", "nslip"), ()),
    "conform": (NSLIP, 0, ("conform", "nslip"), ()),
    "replay": (CSP, 0, ("replay",), ()),
    "session pack": (NSLIP, 0, ("session", "pack"), ()),
    "session pack --events": (LINES, 0, ("session", "pack", "--events"), ()),
    "session check": (LINES, 0, ("session", "check"), ()),
    "session unpack": (LINES, 0, ("session", "unpack"), ()),
    "apply": (CSP, 0, ("apply",), ("--root", ".", "--dry-run")),
}
KINDS = ("folder", "glob", "-", "gz", "zst", "- gz", "url", "url gz", "url zst", "url folder", "url glob")


@pytest.fixture
def storage() -> Iterator[Any]:
    memory = fsspec.filesystem("memory")
    yield memory
    if memory.exists("/sources"):
        memory.rm("/sources", recursive=True)


def bare(done: Finished) -> tuple[int, str, str]:
    """The result of a command, without the name of its source."""
    name = r'[^\s"<>]*a\.log(?:\.\w+)?|<stdin>|(?<=")-(?=")'
    out = re.sub(name, "LOG", done.out.decode()) if len(done.out) < 20_000 else "a page"
    err = re.sub(r"; next: .*", "", done.err)  # the command names the source, where it can be read again
    return done.code, re.sub(" +", " ", out), re.sub(name, "LOG", err)


@cache
def of_a_plain_file(name: str) -> tuple[int, str, str]:
    """The result of a command for a file of this name, which is alone in the working directory but for a folder."""
    data, code, before, after = COMMANDS[name]
    Path("a.log").write_bytes(data)
    done = turnwire(*before, "a.log", *after)
    assert done.code == code and (done.out or "2 good" in done.err)
    return bare(done)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", COMMANDS)
def test_every_kind_of_source(
    name: str, kind: str, storage: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, _, before, after = COMMANDS[name]
    if name == "apply" and kind in ("folder", "glob", "url folder", "url glob"):
        pytest.skip("it takes one log")
    monkeypatch.chdir(tmp_path)
    (folder := tmp_path / "sources").mkdir()
    packed = {"gz": gzip.compress(data), "zst": zstandard.compress(data)}.get(kind.split()[-1], data)
    ending = f".{kind.split()[-1]}" if kind.endswith(("gz", "zst")) else ""
    source, stdin = str(folder / f"a.log{ending}"), b""
    if kind.startswith("url"):
        source = f"memory://sources/a.log{ending}"
        storage.pipe(source, packed)
    elif kind.startswith("-"):
        source, stdin = "-", packed
    else:
        Path(source).write_bytes(packed)
    source = source.replace("a.log", "*.log") if kind.endswith("glob") else source
    source = source.removesuffix("/a.log") if kind.endswith("folder") else source
    assert bare(turnwire(*before, source, *after, stdin=stdin)) == of_a_plain_file(name)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_url_that_cannot_be_read(name: str, storage: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, before, after = COMMANDS[name]
    done = turnwire(*before, "memory://sources/no.log", *after)
    assert (done.code, done.out) == (3, b"")
    assert done.err == "turnwire: memory://sources/no.log: No such file or directory\n"
    done = turnwire(*before, tmp_path / "no.log", *after)
    assert done == (3, b"", f"turnwire: {tmp_path}/no.log: No such file or directory\n")
    done = turnwire(*before, "memry://sources/a.log", *after)
    assert done.code == 2 and "did you mean 'memory'?" in done.err
    monkeypatch.setitem(sys.modules, "fsspec", None)
    done = turnwire(*before, "s3://bucket/a.log", *after)
    assert (done.code, done.err) == (2, "turnwire: URLs need the package fsspec: pip install 'turnwire[fsspec]'\n")


@pytest.mark.skipif("s3fs" in sys.modules, reason="s3fs is there")
def test_a_storage_that_needs_a_package_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    done = turnwire("scan", "s3://bucket/a.log")
    assert done.code == 2 and "s3://bucket/a.log needs another package besides fsspec: Install s3fs" in done.err


def test_a_storage_that_breaks_off(storage: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a storage raises, where it is opened or later, names the URL."""
    storage.pipe("/sources/a.log", NSLIP)

    class Broken:
        def read(self, count: int) -> bytes:
            raise KeyError("the session is over")

        def close(self) -> None:
            pass

    memory = type(storage)
    monkeypatch.setattr(memory, "open", lambda *_, **__: Broken())
    for words in (("scan",), ("conform", "nslip"), ("validate",)):
        done = turnwire(*words, "memory://sources/a.log")
        assert done.code == 3 and "memory:///sources/a.log: 'the session is over'" in done.err
    monkeypatch.setattr(memory, "ls", lambda *_, **__: 1 / 0)
    monkeypatch.setattr(memory, "isdir", lambda *_, **__: 1 / 0)
    done = turnwire("scan", "memory://sources/a.log")
    assert (done.code, done.err) == (3, "turnwire: memory://sources/a.log: division by zero\n")


CLAUDE = (
    b'{"type":"assistant","sessionId":"S","uuid":"u1","timestamp":"2026-01-10T10:00:00Z","requestId":"r","message":'
    b'{"id":"m","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"hi"}],'
    b'"usage":{"input_tokens":10,"output_tokens":100}}}\n'
)
FOLDERS: dict[str, tuple[bytes, tuple[str, ...]]] = {
    **{name: (data, before) for name, (data, _, before, _) in COMMANDS.items() if data is NSLIP and name != "conform"},
    "stats --by": (NSLIP, ("stats", "--by", "wire")),
    "report --by": (NSLIP, ("report", "--by", "wire")),
    **{name: (CLAUDE, (name,)) for name in ("usage", "show", "stats")},
    "convert --to jsonl": (CLAUDE, ("convert", "--to", "jsonl")),
    "ledger ingest": (CLAUDE, ("ledger", "ingest", "LEDGER")),
}


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that everybody can enter and write to, which those of pytest are not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


@needs_posix
@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_is_read_without_what_cannot_be(name: str, public: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a file, nor a folder in it, nor an empty one beside it keeps anything else from being read."""
    data, before = FOLDERS[name]
    monkeypatch.chdir(public)
    for folder in ("logs/sub", "empty"):
        Path(folder).mkdir(parents=True)
    for file in ("logs/a.log", "logs/b.log"):
        Path(file).write_bytes(data)

    def run(ledger: str, *sources: str) -> Finished:
        return turnwire(*(word.replace("LEDGER", ledger) for word in before), *sources)

    expected = run("1", "logs")
    Path("logs/a-closed.log").write_bytes(data)
    for closed in ("logs/a-closed.log", "logs/sub"):
        Path(closed).chmod(0)
    with unprivileged():
        done = run("2", "logs", "empty")
    Path("logs/sub").chmod(0o755)
    assert (expected.code, done.code) == (0, 3)
    assert [done.err.count(f"turnwire: {name}: ") for name in ("logs/a-closed.log", "logs/sub", "empty")] == [1, 1, 1]
    if name == "ledger ingest":
        assert "2 records and 0 rejects" in done.err and "2 records and 0 rejects" in expected.err
    else:
        assert bare(done)[1] == bare(expected)[1]


def test_an_empty_folder_of_this_machine_is_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for folder in (".claude/projects/x", ".codex/sessions"):
        (tmp_path / folder).mkdir(parents=True)
    assert turnwire("usage").code == 4
    (tmp_path / ".claude/projects/x/a.jsonl").write_bytes(CLAUDE)
    done = turnwire("usage", "--json")
    assert (done.code, [row["tokens"] for row in done.records]) == (0, [110])


READS_ALL_OR_NOTHING = ("conform", "replay", "apply", "session check", "session unpack", "session pack --events")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_code_of_a_packed_file_that_is_cut_off(name: str, tmp_path: Path) -> None:
    data, _, before, after = COMMANDS[name]
    path = put(tmp_path / "a.log.gz", gzip.compress(data * 100)[:-8])
    done = turnwire(*before, path, *after)
    assert done.code == (3 if name in READS_ALL_OR_NOTHING else 1), done.err


@pytest.mark.parametrize("name", ["scan", "validate", "stats", "tokens", "report"])
def test_what_holds_nothing_of_a_wire_says_what_it_holds(name: str, tmp_path: Path) -> None:
    _, _, before, _ = COMMANDS[name]
    words = [word for word in before if word != "-q"]
    empty, log = tmp_path / "empty.log", tmp_path / "a.log.gz"
    empty.write_bytes(b"")
    log.write_bytes(gzip.compress(NSLIP))
    assert f"{empty}: is empty\n" in turnwire(*words, empty).err
    assert f"{empty} and 1 more: are empty\n" in turnwire(*words, "--wire", "sap", empty, empty).err
    done = turnwire(*words, "--wire", "csp", log)
    assert f"{log}: there are records of other wires: nslip 2 (without --wire: all)\n" in done.err
    assert "other wires" not in turnwire(*words, "--wire", "nslip", log).err


FOREIGN = {
    "claude_code": '{"type": "summary", "leafUuid": "u", "summary": "s"}',
    "codex": '{"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "1"}}',
    "mcp": '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x"}}',
    "a2a": '{"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {}}',
    "openai": '{"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": {}}',
    "damaged items of Codex": '{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hel',
    "a chat transcript": '{"messages": [{"role": "user", "content": "hello"}]}',
}


@pytest.mark.parametrize("what", FOREIGN)
@pytest.mark.parametrize("command", ["scan", "stats", "validate"])
def test_a_file_of_another_format_is_named(tmp_path: Path, command: str, what: str) -> None:
    log = put(tmp_path / "a.jsonl", FOREIGN[what] + "\n")
    done = turnwire(command, log)
    told = f"looks like {what}" if " " in what else f"there are records of other formats: {what} 1"
    assert f"{log}: {told}" in done.err
    assert done.code == 0


def test_a_command_names_formats_only_where_it_reads_them(tmp_path: Path) -> None:
    log = put(tmp_path / "a.jsonl", FOREIGN["claude_code"] + "\n")
    assert f"{log}: there are records of other formats: claude_code 1 (turnwire usage," in turnwire("tokens", log).err
    assert turnwire("tokens", "--wire", "formats", log).code == 2


@pytest.mark.parametrize("text", ['{"name": "x", "version": "1.0.0", "dependencies": {}}', "prose", "[1, 2]"])
def test_other_text_gets_no_hint(tmp_path: Path, text: str) -> None:
    log = put(tmp_path / "a.json", text + "\n")
    assert f"{log}: " not in turnwire("scan", log).err


def test_text_that_becomes_utf_16_is_named(tmp_path: Path) -> None:
    log = put(tmp_path / "a.log", b"one line\n" * 600 + "@a3|f0|c3|S0|d1|T1#\n".encode("utf-16-le"))
    assert f"{log}: is, from byte 5,400, UTF-16" in turnwire("scan", log).err


def _as(kind: str, data: bytes, folder: Path) -> tuple[Path | str, bytes]:
    """These bytes as a source, and what standard input then has."""
    path = folder / {"gz": "a.jsonl.gz", "eval": "a.eval"}.get(kind, "a.jsonl")
    if kind == "eval":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("empty.json", b"{}")
            archive.writestr("samples/a.json", data)
    else:
        path.write_bytes(gzip.compress(data) if kind == "gz" else data)
    return folder if kind == "folder" else "-" if kind == "stdin" else path, data if kind == "stdin" else b""


@pytest.mark.parametrize("kind", ["file", "folder", "stdin", "eval", "gz"])
@pytest.mark.parametrize("words", ["stats", "stats --by wire", "validate", "report --by wire", "report -o {page}"])
def test_every_command_chooses_the_formats_for_every_kind_of_input(tmp_path: Path, words: str, kind: str) -> None:
    (inside := tmp_path / "logs").mkdir()
    for line, told in ((FOREIGN["codex"].encode(), True), (FOREIGN["codex"].encode() + GOOD, False)):
        source, stdin = _as(kind, line + b"\n", inside)
        done = turnwire(*words.format(page=tmp_path / "page.html").split(), source, stdin=stdin)
        assert done.code == 0
        assert ("read as with --wire formats" in done.err) == told
        chosen, other = ("codex", "nslip") if told else ("nslip", "codex")
        page = (tmp_path / "page.html").read_text("utf-8") if "page" in words else ""
        if words == "validate":
            assert "1 good record, 0 faults" in done.err
        elif not page:
            assert chosen.encode() in done.out and other.encode() not in done.out
        else:
            assert f'"{chosen}"' in page


@needs_posix
@pytest.mark.parametrize(("words", "packed"), [("stats", True), ("validate", False)])
def test_a_pipe_is_read_whole_after_the_formats_are_chosen(words: str, packed: bool) -> None:
    lines = (FOREIGN["codex"].encode() + b"\n") * 60_000  # more than what is looked at
    done = process(*words.split(), "-", stdin=gzip.compress(lines, 1) if packed else lines)
    assert done.code == 0
    assert "60,000" in done.err + done.out.decode()


def test_a_format_may_be_named_for_validate(tmp_path: Path) -> None:
    log = put(tmp_path / "a.jsonl", FOREIGN["codex"] + "\n" + FOREIGN["codex"][:-9] + "\n")
    for wire in ("formats", "codex"):
        done = turnwire("validate", log, "--wire", wire)
        assert done.code == 1
        assert f"{log}:2: byte " in done.out.decode()


def test_usage_without_token_counts_leads_to_what_reads_the_file(tmp_path: Path) -> None:
    log = put(tmp_path / "a.jsonl", FOREIGN["mcp"] + "\n")
    done = turnwire("usage", log, "--wire", "formats")
    assert done.code == 4
    assert f"turnwire show {log} --wire formats" in done.err
    assert turnwire("show", log, "--wire", "formats").code == 0


def test_the_cost_of_a_model_without_a_price_is_unknown(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    usage = {"input_tokens": 5, "output_tokens": 7}
    said = {"id": "m", "type": "message", "role": "assistant", "model": "none-such", "content": [], "usage": usage}
    log.write_text(json.dumps(said) + "\n")
    done = turnwire("usage", log, "--json")
    assert [(row["model"], row["tokens"], row["cost"]) for row in done.records] == [("none-such", 12, None)]


@needs_posix
def test_a_narrow_terminal_shows_tokens_and_cost(tmp_path: Path) -> None:
    log = put(tmp_path / "a.jsonl", CLAUDE)
    code, sent = on_terminal("usage", log, COLUMNS="80")
    head, *_, hidden = [line for line in sent.decode().splitlines() if "tokens" in line or "column" in line]
    assert code == 0 and "tokens" in head and "cost" in head and "cost" not in hidden and "reasoning" in hidden


@pytest.fixture
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The ids of sessions in the folders of this machine, by what they say; one is in a file without its id."""
    monkeypatch.setenv("HOME", str(tmp_path))
    ids = {"one": "aaaaaaaa-1111", "two": "aaaaaaaa-2222", "three": "bbbbbbbb-3333", "four": "S"}
    for said, name in ids.items():
        path = tmp_path / ".claude" / "projects" / "x" / ("other.jsonl" if said == "three" else f"{name}.jsonl")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(CLAUDE.replace(b'"S"', f'"{name}"'.encode()).replace(b'"hi"', f'"{said}"'.encode()))
    return ids


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("aaaaaaaa-1111", "one"),
        ("aaaaaaaa-2", "two"),
        ("bbbbbbbb", "three"),
        ("S", "four"),
        ("bbbbbbb", None),
        ("cccccccc", None),
        ("aaaaaaaa", "several"),
    ],
)
def test_a_session_is_shown_by_its_id(given: str, shown: str | None, sessions: dict[str, str]) -> None:
    done = turnwire("show", given)
    if shown in sessions:
        assert done.code == 0 and f"  {shown}\n".encode() in done.out and done.out.count(b"assistant") == 1
    else:
        assert (done.code, done.out) == (3 if shown is None else 2, b"")
        assert given in done.err and all((name in done.err) == (shown is not None) for name in ("-1111", "-2222"))


@pytest.mark.parametrize("words", ["usage", "stats", "report", "tokens"])
def test_a_session_is_a_conversation(words: str, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(CLAUDE if words != "tokens" else NSLIP)
    session, conversation = (turnwire(words, tmp_path, "--by", by, "--json") for by in ("session", "conversation"))
    assert session == conversation and session.code == 0 and session.records


def test_nothing_ends_without_a_word(tmp_path: Path) -> None:
    log, text, tools = tmp_path / "a.jsonl", tmp_path / "text", tmp_path / "tools.json"
    log.write_bytes(CLAUDE)
    text.mkdir()
    (text / "a.txt").write_text("hi\n")
    tools.write_text(json.dumps({"tools": [{"name": "a", "description": "d", "inputSchema": {"type": "object"}}]}))
    for words, code in (
        (("show", text), 4),
        (("show", log, "--conversation", "nope"), 4),
        (("show", log, "--session", "nope"), 4),
        (("usage", text), 4),
        (("convert", text, "--to", "openai"), 4),
        (("report", log, "--json"), 2),
        (("tokens", "--mcp-schema", tools, "--max", "1"), 1),
    ):
        done = turnwire(*words)
        assert done.code == code and done.err
    assert turnwire("show", log, "--session", "S").out == turnwire("show", log, "--conversation", "S").out != b""


@pytest.mark.parametrize("wire", ["nslip", "claude_code", "formats", None])
def test_a_condition_on_an_unknown_column_names_what_is_scanned(wire: str | None, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(CLAUDE)
    words = ("--wire", wire) if wire else ()
    for more in (("--where", "nonsense=1"), ("--columns", "nonsense")):
        done = turnwire("scan", tmp_path, *words, *more)
        assert done.code == 2 and ("none is named" in done.err) == (wire is None)


@pytest.mark.parametrize("words", ["validate", "stats", "report -o PAGE", "scan", "tokens"])
def test_a_line_over_the_limit_is_told(words: str, tmp_path: Path) -> None:
    log, long = tmp_path / "a.jsonl", b"x" * (16 << 20)
    for content in (CLAUDE.replace(b'"hi"', b'"%b"' % long), *([b'{"a":"%b"}' % long] if words == "validate" else [])):
        log.write_bytes(content)
        done = turnwire(*words.replace("PAGE", str(tmp_path / "page.html")).split(), log)
        assert done.code == (b"sessionId" in content and words not in ("scan", "tokens")) and f"{log}: " in done.err


def test_an_archive_that_was_read_does_not_look_binary(tmp_path: Path) -> None:
    archive, _ = _as("eval", b'{"just": "text"}\n' * 100, tmp_path)
    assert "binary" not in turnwire("validate", archive).err
    Path(archive).with_suffix(".bin").write_bytes(b"\0\1\2\3\xff\xfe\xfd" * 100)
    assert "binary" in turnwire("validate", Path(archive).with_suffix(".bin")).err
