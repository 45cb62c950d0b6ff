"""Columns of a batch as plain values of Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from turnwire.log import Batch


def plain_values(batch: Batch, name: str) -> list[Any]:
    """The values of a column, one for each row; None where there is none."""
    column = batch.column(name)
    found = batch.values(column)
    values = found.tolist() if isinstance(found, np.ndarray) else list(found)
    if batch.validity_of(column) is None:
        return values
    valid = batch.valid(name).tolist()
    return values if all(valid) else [one if good else None for one, good in zip(values, valid, strict=True)]
