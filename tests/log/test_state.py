"""Texts that are open where a scan ends, or a block: it goes on from there as if there were no cut, also from a
position that was kept as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests.log.engines import GOOD
from tests.log.found import everything
from turnwire.errors import DecodeError, Reason
from turnwire.log.search.texts import SearchState

MESSAGE = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT QUERY\n\nQUERY Q1\nGOAL x\n"
FENCED = f"So:\n```\n{MESSAGE}```\nthen\n````\n{MESSAGE}\n```\n{MESSAGE}````\n"
UNCLOSED = f"{MESSAGE.replace('GOAL x', 'NOTE')}<<<<\ntext\n{MESSAGE}\nend\n{MESSAGE}\n" + 70 * f"{'x' * 90}\n"
TAIL = f"{MESSAGE}\n<<<\n{MESSAGE}>>>\n@a3|f0|c1|S0|d1|T1#\n"
TEXTS = {"fences": FENCED, "a heredoc that never closes": UNCLOSED, "heredocs in trailing text": TAIL}
TIME = "2026-01-02T03:04:05Z"
FORMS = {
    "lines": lambda lines: "".join(f"{line}\n" for line in lines),
    "cri": lambda lines: "".join(f"{TIME} stdout F {line}\n{TIME} stderr F other\n" for line in lines),
    "docker": lambda lines: "".join(
        json.dumps({"log": f"{line}\n", "stream": "stdout", "time": TIME}) + "\nother\n" for line in lines
    ),
    "journald": lambda lines: "".join(
        json.dumps({"MESSAGE": line, "_PID": 3, "__REALTIME_TIMESTAMP": "1767322800000000"}) + "\n" for line in lines
    ),
}

LIMITS = {"limits": turnwire.LIMITS._replace(message=4000)}  # an open heredoc is one that never closes


def grown(path: Path, data: bytes, *cuts: int, **options: Any) -> tuple[Any, Any]:
    """The columns and the rejects of a log that is read up to each of some places and then to its end."""
    columns: dict[str, list[Any]] = {}
    rejects: list[Any] = []
    position: Any = {}
    path.unlink(missing_ok=True)
    for stop in (*cuts, len(data)):
        path.write_bytes(data[:stop])
        scan = turnwire.scan(path, resume=position, **options)
        more, bad, counts = everything(scan)
        columns = {name: columns.get(name, []) + more[name] for name in more}
        begun = sum(mark["offset"] for mark in position.get("files", ()))
        rejects, position = rejects + bad, json.loads(json.dumps(scan.position))
        assert begun + counts.bytes == sum(mark["offset"] for mark in position["files"])
    return columns, rejects


def line_ends(data: bytes) -> list[int]:
    return [at for at, byte in enumerate(data, 1) if byte == 10]


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text", TEXTS)
def test_a_position_at_each_line_goes_on_as_without_it(tmp_path: Path, text: str, form: str) -> None:
    path = tmp_path / "a.log"
    data = FORMS[form]([*TEXTS[text].splitlines(), "", "end"]).encode()
    whole = grown(path, data, **LIMITS)
    assert len(whole[0]["offset"]) > 1
    for cut in line_ends(data)[::11]:
        assert grown(path, data, cut, **LIMITS) == whole, cut


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize(
    "data",
    [
        b"prose\n%b\n%b\nmore\n",
        b"prose\n```\n%b\n%b\n```\n@a3|f0|c1|S0|d1|T1#\n",
        b"@a3|f0|c1|S0|d1|T1#\n````\nx\n%b\n%b\n```\n````\nx\n",
        b"```\n@a3|f0|c1|S0|d1|T1#\n%b\n```\n@a3|f0|c2|S0|d1|T1#\n%b\n",
    ],
)
def test_a_position_knows_whether_a_document_may_begin(data: bytes, tmp_path: Path) -> None:
    """Behind prose, in a fence and behind one, as one scan has it; what is in a document that waits stays in it."""
    data %= ("⫻note/x:y/1".encode(), GOOD)
    whole = grown(tmp_path / "a.log", data)
    for cut in [at for at in range(1, len(data)) if data[at - 1 : at] in (b"\n", b"`", b"n")]:
        assert grown(tmp_path / "a.log", data, cut) == whole, cut


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize("fences", [("<<<", "<<<<<"), ("<<<<<", "<<<"), ("<<<<", "<<<<"), ("<<<",), ("<<<<<",)])
def test_heredocs_that_nothing_closes_are_open_however_many_scans_it_takes(
    fences: tuple[str, ...], tmp_path: Path
) -> None:
    """Messages behind them are marked, and each position is taken by the next scan."""
    head = "CSP/1\nFROM A\nTO B\nCTX C1\nINTENT RESULT\n\nRESULT T1\nSTATUS OK\n"
    options = {"wire": "csp", "limits": turnwire.LIMITS._replace(message=300)}
    pieces = [f"{head}\n", *(f"{head}CONTENT\n{fence}\n" + "never closed\n" * 40 for fence in fences)]
    pieces += [f"{head}\n", f"text\n{head}\n"] * 3
    data = "".join(pieces).encode()
    cuts = [sum(map(len, pieces[:count])) for count in range(1, len(pieces))]
    whole = grown(tmp_path / "a.log", data, **options)
    assert whole[0]["inside_unclosed_heredoc"] == [False] + [True] * 6
    assert grown(tmp_path / "a.log", data, *cuts, **options) == whole
    for cut in cuts:
        assert grown(tmp_path / "a.log", data, cut, **options) == whole, cut
    for size in (100, 1):
        columns, rejects, _ = everything(turnwire.scan(data, batch_bytes=size, **options))
        assert (columns["inside_unclosed_heredoc"], len(rejects)) == ([False] + [True] * 6, len(fences))


@pytest.mark.usefixtures("scan_core")
def test_many_files_each_begin_anew(tmp_path: Path) -> None:
    (tmp_path / "1.log").write_text(f"{MESSAGE}\n{MESSAGE.replace('GOAL x', 'NOTE')}<<<\nx\n")
    (tmp_path / "2.log").write_text(f">>>\n{MESSAGE}")
    columns, rejects, _ = everything(turnwire.scan(tmp_path, wire="csp"))
    assert columns["inside_unclosed_heredoc"] == [False, False]
    assert [one["reason"] for one in rejects] == ["unclosed_heredoc"]


@pytest.mark.usefixtures("scan_core")
def test_what_the_end_of_a_scan_cut_off_is_read_again(tmp_path: Path) -> None:
    """Also behind a scan that told it as a reject, since it was not to wait for more."""
    path = tmp_path / "a.log"
    header = {"kind": "knowledge", "actor_id": "a", "schema_id": "ioc.knowledge.v0", "session_id": "s"}
    message = {"header": {**header, "logical_clock": 1}, "payload": {"content": "c", "confidence": 1}}
    pretty = json.dumps(message, indent=1) + "\n"
    cuts = [(pretty, cut, ["cut_off"]) for cut in line_ends(pretty.encode())[6:-1]]
    for text, cut, reasons in [*cuts, *((FENCED, cut, None) for cut in (8, 11, 20, 33, 50))]:
        path.write_text(text)
        whole = everything(turnwire.scan(path))[0]["raw"]
        path.write_text(text[:cut])
        first = turnwire.scan(path)
        assert sum(map(len, first)) == 0
        assert reasons is None or [one["reason"] for one in first.rejects.rows()] == reasons
        path.write_text(text)
        assert everything(turnwire.scan(path, resume=first.position))[0]["raw"] == whole, cut
        path.unlink()


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize(
    ("data", "wire"),
    [
        (b'{"log": "{\\"a\\": \\"@a3|f0|c3|S0|d1|T2#\\"}\\n", "stream": "stdout"}\n', "nslip"),
        ("⫻a/b:\nrefactor\n⫻c/d:e\n> @a3|f0|c1|S0|d1|T1# @a3|f0|c2|S0|d1|T1#\n".encode(), "kick"),
    ],
)
def test_what_was_given_at_the_end_of_a_log_that_grows_is_not_given_again(
    data: bytes, wire: str, tmp_path: Path
) -> None:
    """Neither as what it was nor as a part of it: the second scan goes on where the search could."""
    path = tmp_path / "a.log"
    seen = set()
    for cut in range(data.index(b"@"), len(data)):
        path.write_bytes(data[:cut])
        first = turnwire.scan(path)
        given = sum(map(len, first))
        with path.open("ab") as file:
            file.write(data[cut:])
        rest = turnwire.scan(path, resume=json.loads(json.dumps(first.position)))
        assert [row for batch in rest for row in batch["wire"]] == ([] if given else [wire]), cut
        seen.add(given)
    assert seen == ({0, 1} if wire == "nslip" else {1})


V = {"version": 1}
DAMAGED: list[Any] = [
    *([0, 3, 0], "text", {}, {"version": 2}, {**V, "fence": "``"}, {**V, "fence": "```x"}, {**V, "fence": 3}),
    *({**V, "touched": 1}, {**V, "runs": [2]}, {**V, "runs": [True]}, {**V, "runs": "333"}, {**V, "runs": [1 << 70]}),
    *({**V, "other": True}, {**V, "streams": {}}, {**V, "streams": [["cri", {}]]}, {**V, "streams": [[[], {}]]}),
    *({**V, "streams": [[["cri", 1], {}]]}, {**V, "streams": [[["cri", "stdout"], {"fence": "x"}]]}),
    *({**V, "streams": [[["cri", "stdout"], []]]}, {**V, "foreign": {"cri": [1]}}, {**V, "foreign": [1, 2]}),
    {**V, "foreign": {"cri": [1, -1]}},
]


@pytest.mark.parametrize("said", DAMAGED, ids=repr)
def test_a_damaged_state_is_refused_in_words(tmp_path: Path, said: Any) -> None:
    with pytest.raises(ValueError, match="search state"):
        SearchState.restored(said)
    path = tmp_path / "a.log"
    path.write_text(FENCED, "utf-8")
    first = turnwire.scan(path, resume={})
    list(first)
    token = first.position
    token["files"][0]["carried"] = said
    with pytest.raises(DecodeError, match="not a position of a scan") as caught:
        list(turnwire.scan(path, resume=token))
    assert caught.value.reason is Reason.BAD_POSITION


@pytest.mark.once
def test_what_is_known_stays_known_where_nothing_of_a_block_is_decided(tmp_path: Path) -> None:
    """A run of lines, and behind the cut a part of one: also where another thread read that by itself."""
    path, lines = tmp_path / "a.log", f"{TIME} stdout F text\n".encode()
    path.write_bytes(lines + f'{TIME} stdout P {{\n{TIME} stdout P "a": 1\n'.encode())
    for options in ({}, {"batch_bytes": len(lines)}, {"batch_bytes": len(lines), "threads": 2}):
        scan = turnwire.scan(path, resume={}, **options)  # type: ignore[arg-type]
        scan.read()
        (mark,) = scan.position["files"]
        assert (mark["offset"], mark["carried"]["foreign"]) == (len(lines), {"cri": [0, 0]}), options
