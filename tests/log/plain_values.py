"""Columns of a batch as plain values of Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from turnwire.log import Batch


def plain_values(batch: Batch, name: str) -> list[Any]:
    """The values of a column, one for each row; None where there is none."""
    column = batch[name]
    values = column.tolist() if isinstance(column, np.ndarray) else list(column)
    if batch.validity(name) is None:
        return values
    return [one if good else None for one, good in zip(values, batch.valid(name).tolist(), strict=True)]
