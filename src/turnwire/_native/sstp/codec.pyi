from collections.abc import Iterable

from typing_extensions import disjoint_base

from turnwire.sstp._codec_py import PlainCodec as PlainCodec, Row
from turnwire.sstp.spec import WIRE as WIRE

@disjoint_base
class Rules:
    def __init__(self, rows: Iterable[Row]) -> None: ...

@disjoint_base
class KindRules:
    def __init__(self, kinds: list[tuple[str, type, str, tuple[Row, ...], tuple[Row, ...]]]) -> None: ...
