from collections.abc import Callable
from typing import Any

from typing_extensions import disjoint_base

from turnwire._native.json.lines import Plan as Plan
from turnwire.contract import Packed
from turnwire.csp.spec import REASONS
from turnwire.json.plan import TIME_COLUMN as TIME_COLUMN
from turnwire.log.search.carriers import MOST_FOREIGN as MOST_FOREIGN
from turnwire.log.search.carriers import MOST_FOREIGN_LINES as MOST_FOREIGN_LINES
from turnwire.log.search.rows import DTYPES as DTYPES
from turnwire.log.search.rows import REJECT_DTYPES as REJECT_DTYPES
from turnwire.log.search.state import LONGEST_LINE as LONGEST_LINE
from turnwire.log.search.streams import Streams

CSP_REASONS = REASONS
LEVELS: tuple[str, ...]
SIMD: str

def choose_simd(most: str = "avx512") -> str: ...
def searched(
    finder: Any,
    block: Any,
    final: bool,
    line: int,
    state: Any,
    keep: bool,
    limit: int,
    dtypes: dict[str, Any],
    memory: Callable[[dict[str, Any], int], dict[str, Any]] | None = None,
) -> tuple[dict[str, Any], int, list[tuple[dict[str, Any], int]], int, int]: ...
def merged(
    parts: list[Any], dtypes: dict[str, Any], size: int, packed: Packed | None
) -> tuple[dict[str, Any], dict[str, Any], bytes]: ...

@disjoint_base
class Core: ...

@disjoint_base
class Block:
    def streams(self, walk: Any, at: int, carrier: str) -> int: ...

@disjoint_base
class Part: ...

@disjoint_base
class Stream: ...

@disjoint_base
class Call: ...

class NativeStreams(Streams):
    block: Block | None
