"""Another name for :mod:`turnwire.nslip`, as in slipcore, with the same objects."""

import sys as _sys

from turnwire import nslip as _nslip
from turnwire.nslip import __version__ as __version__, base62, protocol

__all__, __getattr__, __dir__ = _nslip.__all__, _nslip.__getattr__, _nslip.__dir__
__path__: list[str] = []  # no files of its own

for _module in (base62, protocol):
    _sys.modules[_module.__name__.replace("nslip", "slip")] = _module
