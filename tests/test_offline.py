"""Nothing that a log says is run, fetched or opened, and nothing connects: every door is watched while it is read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sap.documents import RESULT, TASK

pytestmark = pytest.mark.once
WATCHER = """
import json, sys
met, trap = [], sys.argv[2]
DOORS = ("socket.", "subprocess.Popen", "os.system", "os.exec", "os.spawn", "os.posix_spawn", "os.startfile", "os.fork",
         "urllib.", "http.client.", "ftplib.", "smtplib.", "webbrowser.", "shutil.", "os.remove", "os.rename",
         "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown")
def watched(event, arguments):
    if not armed:
        return
    if event.startswith(DOORS) or (event in ("open", "os.listdir", "os.scandir") and trap in str(arguments[0])):
        met.append((event, repr(arguments)[:200]))
armed = True
sys.addaudithook(watched)
import turnwire
from turnwire import csp, kick, nslip, sap, sstp
log = sys.argv[1]
data = open(log, "rb").read()
read = 0
for source in (log, data):
    for wire in (None, *turnwire.WIRES):
        found = turnwire.scan(source, wire=wire, batch_bytes=5000)
        read += sum(map(len, found))
        list(found.rejects.rows())
        list(turnwire.scan(source, wire=wire).messages())
        list(turnwire.scan(source, wire=wire).errors())
for one in turnwire.extract(data.decode()):
    turnwire.check(one.message)
    turnwire.encode(one.message, strict=False)
    for target in turnwire.WIRES:
        try:
            turnwire.convert(one.message, target, nearest=True)
        except turnwire.ConvertError:
            pass
decoder = turnwire.Decoder()
for call in (lambda: decoder.feed(data), *[lambda: decoder.feed(b"")] * 50):
    try:
        call()
    except turnwire.DecodeError:
        pass
csp.replay(csp.read_log(data))
from turnwire.tokens import count
count(data.decode())
told = {"read": read, "met": list(met)}
open(trap + "/file.json").close()
assert len(met) == len(told["met"]) + 1, "the door is watched"
print(json.dumps(told))
"""


def log_with_traps(trap: Path) -> str:
    """Messages of all wires whose every text names a file, an address or a command."""
    names = [
        str(trap),
        f"file://{trap}",
        f"http://127.0.0.1:9/{trap.name}",
        f"$(touch {trap}.run)",
        f"`touch {trap}.run`",
    ]
    lines = []
    for name in names:
        quoted = name.replace('"', "")
        lines.append(f'@a3|f0|c3|S0|d1|T1|t"{quoted}"#')
        head = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT {}\n\n"
        lines.append(head.format("FILE") + f"FILEOP F1 CREATE\nPATH {name}\nCONTENT\n<<<\n{name}\n>>>\n")
        lines.append(head.format("TASK") + f"TASK T1\nREQ {name}\nIN {name}\n")
        task = {**TASK, "payload": {"$ref": name, "url": name}, "replyTo": {"endpoint": name}}
        task["outputContract"] = {"format": "json", "schema": {"$ref": name}}
        lines.append(json.dumps(task))
        lines.append(json.dumps({**RESULT, "artifacts": [{"kind": "file", "uri": name}], "output": {"$ref": name}}))
        lines.append(json.dumps({
            "header": {"kind": "knowledge", "actor_id": name, "schema_id": name, "logical_clock": 1},
            "payload": {"content": name, "confidence": 1, "evidence_refs": [name]},
        }))  # fmt: skip
        lines.append(json.dumps({
            "id": "3f2b8c1e-9d4a-4b6e-8f10-1a2b3c4d5e6f", "timestamp": "2026-01-15T10:00:00Z", "sender": "Orchestrator",
            "receiver": "WePlan", "type": "Command", "channel": "⫻command/dispatch",
            "content": f"⫻task/dispatch:T-7/001\n{name}\n",
        }))  # fmt: skip
        lines.append(f"include {name}\n{name}\n#!{name}\n@a3|f0|broken {name}")
    return "\n".join(lines) + "\n"


def test_nothing_in_a_log_is_run_fetched_or_opened(tmp_path: Path) -> None:
    trap = tmp_path / "trap" / "file.json"
    trap.parent.mkdir()
    trap.write_text("{}")
    log = tmp_path / "a.log"
    log.write_text(log_with_traps(trap))
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    done = subprocess.run(
        [sys.executable, "-c", WATCHER, log, trap.parent], capture_output=True, text=True, env=dict(os.environ)
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout)
    assert told["read"] > 100
    assert told["met"] == []
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before
