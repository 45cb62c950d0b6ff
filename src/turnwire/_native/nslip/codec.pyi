from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

from typing_extensions import Buffer, disjoint_base

from turnwire.errors import Issue, Reason
from turnwire.nslip.spec import Act, FrameType, Slot

WIRE: str
REASONS: tuple[Reason | None, ...]
SHORT_STRING: int

@disjoint_base
class Touched: ...

@disjoint_base
class SlipMessage:
    __wire__: ClassVar[str]
    __match_args__: ClassVar[tuple[str, ...]]
    __dataclass_fields__: ClassVar[Any]
    __hash__: ClassVar[None]  # type: ignore[assignment]
    conv_id: int
    turn: int
    src: int
    dst: int
    act: Act
    frame: FrameType
    slots: dict[Slot, Any]
    extra: dict[str, str]
    def __init__(
        self,
        conv_id: int,
        turn: int,
        src: int,
        dst: int,
        act: Act,
        frame: FrameType,
        slots: dict[Slot, Any] | None = None,
        *,
        extra: dict[str, str] | None = None,
    ) -> None: ...
    def get(self, slot: int, default: Any = None) -> Any: ...
    def replace(self, **changes: Any) -> Self: ...
    def to_dict(self) -> dict[str, Any]: ...
    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self: ...
    def _repr_html_(self) -> str: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: dict[int, Any]) -> Self: ...

def decode(data: str | Buffer, *, unknown: str = "error") -> SlipMessage: ...
def decode_many(data: list[Any] | tuple[Any, ...] | Buffer | str, *, unknown: str = "error") -> list[SlipMessage]: ...
def decode_record(
    data: bytes, start: int, final: bool, *, unknown: str = "error", limit: int = ...
) -> tuple[SlipMessage, int] | None: ...
def encode(message: SlipMessage) -> str: ...
def encode_many(messages: Iterable[SlipMessage]) -> bytes: ...
def is_clean(message: Any) -> bool: ...
def check(message: SlipMessage) -> list[Issue]: ...
