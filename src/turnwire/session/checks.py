"""What tells that a record was lost, moved or changed: two marks at its end, chained over all records before it.

The marks were chosen so that with the line feed after them they are one token in o200k_base, cl100k_base, llama3 and
qwen3, as the line feed alone would be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnwire import _backend
from turnwire.session._checks_py import PAIRS

if TYPE_CHECKING:
    from turnwire.session._checks_py import Chain
else:
    Chain = _backend.load("session.checks").Chain

__all__ = ["PAIRS", "Chain"]
