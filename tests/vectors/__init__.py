"""Runs the language-neutral conformance cases: ``@vectors.cases("nslip", op="decode")`` parametrises a test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


def load(name: str) -> list[dict[str, Any]]:
    """All cases of one file, in order."""
    return [json.loads(line) for line in (HERE / f"{name}.jsonl").read_text("utf-8").splitlines() if line]


def cases(name: str, **where: Any) -> pytest.MarkDecorator:
    """Parametrises ``case`` with the cases whose keys have the given values."""
    chosen = [case for case in load(name) if all(case.get(key) == value for key, value in where.items())]
    if not chosen:
        raise LookupError(f"no case of {name} has {where}")
    return pytest.mark.parametrize("case", chosen, ids=[case["id"] for case in chosen])
