"""The common columns of nSLIP until every batch has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from turnwire.log.rows import slices
from turnwire.log.stats import COLUMNS

_OWN = {"kind": "act", "sender": "src", "receiver": "dst", "conversation": "conv_id", "subject": "tag"}


def columns(wire: str | None) -> list[str]:
    """The columns to read."""
    return ["length", *_OWN.values()] if wire == "nslip" else list(COLUMNS)


def common_slices(batch: Any) -> Iterator[dict[str, list[Any]]]:
    """The common columns of a batch, in slices."""
    for values in slices(batch, raw_times=True):
        found = dict(zip(batch.names, values, strict=True))
        if "wire" not in found:
            rows = len(found["length"])
            found |= {name: [None if one is None else str(one) for one in found[own]] for name, own in _OWN.items()}
            found |= {"wire": ["nslip"] * rows, "time": [None] * rows}
        yield found
