"""Canonical JSON (RFC 8785): one text for one value, so that equal values have equal digests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnwire import _backend

if TYPE_CHECKING:
    from turnwire.json._canonical_py import canonical
else:
    _core = _backend.load("json.canonical")
    canonical = _core.canonical

__all__ = ["canonical"]
