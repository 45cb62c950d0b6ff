"""One right message of each kind, made from the tables, and ways to damage it."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from turnwire.json.fields import Field
from turnwire.sstp.spec import HEADER, PAYLOADS, SCHEMA_IDS, Kind

DATA = Path(__file__).parent.parent / "data"
VALUES = {
    "text": "some text",
    "clock": 3,
    "fraction": 0.5,
    "texts": ["one", "two"],
    "list": ["a", 1, None],
    "artifacts": [{"type": "fact", "name": "n", "value": "v"}],
    "text_or_null": None,
}
WRONG: dict[str, list[Any]] = {
    "text": [None, 1, 1.5, True, [], {}, ["x"]],
    "clock": [None, "1", 1.0, True, False, [], {}],
    "fraction": [None, "0.5", True, [], {}],
    "texts": [None, "x", 1, {}, [1], ["x", None], [["x"]], True],
    "list": [None, "x", 1, {}, False],
    "artifacts": [None, "x", {}, ["x"], [None], [{"type": 1, "name": "n", "value": "v"}], [{"name": [], "type": "t"}]],
    "text_or_null": [1, [], {}, False],
}


def header(kind: Kind) -> dict[str, Any]:
    return {
        "kind": kind.value,
        "actor_id": "alex",
        "schema_id": SCHEMA_IDS[kind],
        "session_id": "s-1",
        "logical_clock": 1,
    }


def example(kind: Kind) -> dict[str, Any]:
    return {
        "header": header(kind),
        "payload": {field.name: copy.deepcopy(VALUES[field.kind.name]) for field in PAYLOADS[kind]},
    }


def fields() -> list[tuple[Kind, str, Field]]:
    """(kind, part, field) for every field of every kind."""
    return [
        (kind, part, field)
        for kind in Kind
        for part, table in (("header", HEADER), ("payload", PAYLOADS[kind]))
        for field in table
    ]


def real() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / "sstp_real.jsonl").read_text("utf-8").splitlines()]
