"""The message class of KickLang: the core's own, so that decoding makes no second object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnwire import _backend

if TYPE_CHECKING:
    from turnwire.kick._envelope_py import Envelope
else:
    Envelope = _backend.load("kick.envelope").Envelope

__all__ = ["Envelope"]
