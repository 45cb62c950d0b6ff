"""The message class of nSLIP: the core's own, so that decoding makes no second object."""

from __future__ import annotations

from turnwire import _backend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from turnwire.nslip._codec_py import SlipMessage
else:
    SlipMessage = _backend.load("nslip.codec").SlipMessage

__all__ = ["SlipMessage"]
