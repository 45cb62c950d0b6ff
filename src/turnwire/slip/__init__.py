"""Another name for :mod:`turnwire.nslip`, as in slipcore, with the same objects."""

from __future__ import annotations

import sys

from turnwire import nslip
from turnwire.nslip import __version__ as __version__, base62, protocol

__all__, __getattr__, __dir__ = nslip.__all__, nslip.__getattr__, nslip.__dir__
__path__: list[str] = []  # no files of its own

for _module in (base62, protocol):
    sys.modules[_module.__name__.replace("nslip", "slip")] = _module
