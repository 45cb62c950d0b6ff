"""Canonical JSON (RFC 8785): one text for one value, so that equal values have equal digests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnwire import _backend

if TYPE_CHECKING:
    from turnwire.json._write_py import canonical
else:
    canonical = _backend.load("json.write").canonical

__all__ = ["canonical"]
