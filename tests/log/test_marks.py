"""Damage means damage: a good message with one fault is a reject, and JSON that only looks related is text."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from tests.vectors import load
from turnwire import DecodeError, scan
from turnwire.kick.spec import REQUIRED_FIELDS
from turnwire.sap import spec as sap
from turnwire.sstp.spec import HEADER, PAYLOADS, Kind

pytestmark = pytest.mark.usefixtures("scan_core")
Path = tuple[str, ...]


def sap_paths(table: Any, fields: Any, before: Path = ()) -> Iterator[Path]:
    for field in table.fields:
        if field.need == sap.MUST and not field.late:
            yield (*before, field.name)
        if field.table is not None and isinstance(fields.get(field.name), dict):
            yield from sap_paths(field.table, fields[field.name], (*before, field.name))


def required(wire: str, message: dict[str, Any]) -> list[Path]:
    """Where the fields stand without which ``decode`` refuses a message."""
    if wire == "sstp":
        payload = PAYLOADS[Kind(message["header"]["kind"])]
        parts = (("header", HEADER), ("payload", payload))
        return [("payload",), *((part, one.name) for part, fields in parts for one in fields if one.need == "read")]
    if wire == "sap":
        return list(sap_paths(sap.TASK if "payload" in message else sap.RESULT, message))
    return [(name,) for name in REQUIRED_FIELDS]


def faults(message: dict[str, Any], path: Path) -> Iterator[dict[str, Any]]:
    """The message without the field, with it under another name, and with a value of another type."""
    for way in ("drop", "rename", "mistype"):
        changed = copy.deepcopy(message)
        part = changed
        for name in path[:-1]:
            part = part[name]
        value = part.pop(path[-1])
        if way == "rename":
            part[f"{path[-1]}_x"] = value
        elif way == "mistype":
            part[path[-1]] = 5 if isinstance(value, str) else "five"
        yield changed


def good(wire: str) -> list[dict[str, Any]]:
    cases = [case for case in load(wire) if case.get("kind", "envelope") == "envelope" and "error" not in case]
    return [json.loads(case["text"]) for case in cases if case.get("read", "ok") in ("ok", "issue")]


@pytest.mark.parametrize("wire", ["sstp", "sap", "kick"])
def test_one_fault_in_a_required_field_is_a_reject(wire: str) -> None:
    decode = import_module(f"turnwire.{wire}").decode
    met = 0
    for message in good(wire):
        decode(json.dumps(message))
        for path in required(wire, message):
            for changed in faults(message, path):
                text = json.dumps(changed, ensure_ascii=bool(met % 2))
                with pytest.raises(DecodeError) as caught:
                    decode(text)
                for only in (None, wire):
                    found = scan(f"INFO {text}\n".encode(), wire=only)
                    assert sum(map(len, found)) == 0
                    assert [(one["wire"], one["reason"]) for one in found.rejects.rows()] == [
                        (wire, str(caught.value.reason))
                    ], (path, text)
                met += 1
    assert met > 60


@pytest.mark.parametrize("wire", ["sstp", "sap", "kick"])
def test_a_message_that_is_cut_off_is_a_reject(wire: str) -> None:
    """In the second half of it, at any byte."""
    for message in good(wire)[:4]:
        data = json.dumps(message).encode()
        for size in range(len(data) // 2, len(data)):
            found = scan(data[:size] + b"\n", wire=wire)
            assert (sum(map(len, found)), len(found.rejects)) == (0, 1), data[:size]


def test_one_fault_in_nslip_is_a_reject() -> None:
    fields = ["a3", "f0", "c3", "S0", "d1", "T1", "gH", 't"x"']
    for place in range(6):
        for other in ([], ["z1"], [fields[place][0]], [fields[place] + "-"], [fields[place], fields[place]]):
            if place == 0 and other in (["a"], ["a3-"], ["z1"]):
                continue  # without a first field it is not a candidate
            parts = [*fields[:place], *other, *fields[place + 1 :]]
            for wire in (None, "nslip"):
                found = scan(f"x @{'|'.join(parts)}# y".encode(), wire=wire)
                assert (sum(map(len, found)), len(found.rejects)) == (0, 1), parts


def test_one_fault_in_csp_is_a_reject() -> None:
    lines = ["CSP/1", "FROM A", "TO B", "CTX C0", "INTENT TASK", "", "TASK T1", "REQ x"]
    for place in range(len(lines)):
        for other in ([], [lines[place].lower()], [lines[place] + " ? ?"], ["@@"]):
            if (place == 0 and other in ([], ["@@"])) or (place in (5, 7) and other and other[0] != "@@"):
                continue
            data = "\n".join(["text", *lines[:place], *other, *lines[place + 1 :], "", "text"]).encode()
            for wire in (None, "csp"):
                found = scan(data, wire=wire)
                assert (sum(map(len, found)), len(found.rejects)) == (0, 1), data


LOOK_ALIKES = [
    {"version": "0", "kind": "intent", "protocol": "SSTP", "origin": {"actor_id": "a"}, "payload": {}},
    {"kind": "knowledge", "message_id": "m", "origin": {"actor_id": "a"}, "payload": {"content": "x"}},
    {"kind": "note", "protocol": "SSTP/0", "origin": {}},
    {"header": {"protocol": "SSTP", "participants": ["a"]}, "payload": {}},
    {"header": {"protocol": "L9", "kind": "intent"}, "payload": {}},
]


@pytest.mark.parametrize("message", LOOK_ALIKES)
def test_dialects_of_sstp_are_named(message: dict[str, Any]) -> None:
    text = json.dumps(message)
    with pytest.raises(DecodeError, match="dialect") as caught:
        import_module("turnwire.sstp").decode(text)
    assert caught.value.reason == "look_alike"
    for wire in (None, "sstp"):
        for line in (text, json.dumps({"log": text})):
            found = scan(line.encode(), wire=wire)
            assert sum(map(len, found)) == 0
            assert [(one["wire"], one["reason"]) for one in found.rejects.rows()] == [("sstp", "look_alike")]


ORDINARY = [
    {"name": "app", "version": "1.0.0", "type": "module", "dependencies": {"@angular/core": "^17.0.0", "d3|x": "*"}},
    {"openapi": "3.1.0", "paths": {"/a": {"get": {"parameters": [{"in": "header", "name": "x", "content": {}}]}}}},
    {"time": "2026-01-01T00:00:00Z", "level": "info", "sender": "a@b.org", "receiver": "c@d.org", "channel": "mail"},
    {"id": "1", "sender": "Ann", "receiver": "Bob", "timestamp": "2026-01-01T00:00:00Z", "content": "Hi @all"},
    {"id": 1, "timestamp": 2, "sender": "Ann", "receiver": "Bob", "type": "text", "channel": "#dev", "content": "x"},
    {"header": {"title": "Chat"}, "payload": {"messages": []}},
    {"header": {"alg": "RS256", "typ": "JWT"}, "payload": {"sub": "1"}, "signature": "x"},
    {"header": "eyJhbGciOi", "payload": "eyJzdWIi", "signature": "x"},
    {"header": {"schema_id": 12, "kind": "created"}, "payload": {"content": "x"}},
    {"header": {"actor_id": "u1", "event": "login"}, "payload": {"scope": "all", "task": "x"}},
    {"header": {"protocol": "https"}, "payload": {}},
    {"header": None, "payload": None},
    {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {}, "spec": {}, "origin": {"host": "a"}},
    {"specversion": "1.0", "type": "com.example", "source": "/a", "id": "1", "data": {"payload": {}}},
    {"kind": "query", "payload": {"question": "x"}},
    {"from": "a@b.org", "to": ["c@d.org"], "subject": "x", "headers": {"Message-ID": "<1>"}, "body": "Hi"},
    {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x"}},
    {"protocolVersion": "1.3", "target": "page", "issuer": "x"},
    {"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-06-18", "serverInfo": {}}},
    {"taskId": "1", "correlationId": "2", "status": "FAILED", "producer": "kafka", "target": "x"},
    {"messageId": "1", "correlationId": "2", "status": "ACK", "queue": "q", "broker": "b", "ts": 1},
    {"messageId": "1", "correlationId": "2", "status": "DELIVERED"},
    {"role": "user", "content": "\u2afbtask/dispatch:T-7/001\nGo."},
    {"channel": "\u2afbcommand"},
    {"channel": {"id": 1}, "sender": {"id": 2}, "receiver": None},
]


@pytest.mark.parametrize("value", ORDINARY)
def test_ordinary_json_is_text(value: dict[str, Any]) -> None:
    text = json.dumps(value)
    forms = [text, json.dumps(value, ensure_ascii=False), json.dumps({"log": text}), json.dumps([value]), text * 2]
    forms += [json.dumps(value, indent=2), *(text[:size] for size in range(0, len(text), 7))]
    for wire in (None, "nslip", "csp", "sstp", "sap", "kick"):
        for form in forms:
            found = scan(f"INFO {form}\n".encode(), wire=wire)
            assert (sum(map(len, found)), found.rejects.rows()) == (0, []), form
