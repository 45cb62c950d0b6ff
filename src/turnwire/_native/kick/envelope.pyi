from typing import Any, ClassVar

from typing_extensions import Buffer, disjoint_base

from turnwire.contract import Limits
from turnwire.errors import Issue
from turnwire.kick.policy import Policy
from turnwire.kick.space import Space
from turnwire.kick.spec import FIELDS as FIELDS
from turnwire.kick.spec import TYPES as TYPES
from turnwire.kick.spec import WIRE as WIRE
from turnwire.kick.spec import MessageType

@disjoint_base
class Envelope:
    __wire__: ClassVar[str]
    __match_args__: ClassVar[tuple[str, ...]]
    __hash__: ClassVar[None]  # type: ignore[assignment]
    id: str
    timestamp: str
    sender: str
    receiver: str
    type: MessageType
    channel: str
    content: str
    correlation_id: str | None
    extra: dict[str, Any]
    def __init__(
        self,
        id: str,
        timestamp: str,
        sender: str,
        receiver: str,
        type: MessageType | str,
        channel: str,
        content: str,
        correlation_id: str | None = None,
        extra: dict[str, Any] | None = None,
    ) -> None: ...
    @property
    def space(self) -> Space: ...
    @property
    def family(self) -> str | None: ...
    def replace(self, **changes: Any) -> Envelope: ...
    def to_dict(self) -> dict[str, Any]: ...
    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Envelope: ...
    def __eq__(self, other: object, /) -> bool: ...
    def _repr_html_(self) -> str: ...
    def __copy__(self) -> Envelope: ...

def build(fields: dict[str, Any], source: str | bytes | None = None) -> Envelope | None: ...
def is_uuid4(text: str) -> bool: ...
def is_plain_time(text: str) -> bool: ...
def is_clean(envelope: Envelope, verdicts: dict[tuple[Any, ...], Any]) -> bool: ...
def remarks(envelope: Envelope, known: dict[tuple[Any, ...], tuple[bool, tuple[Issue, ...]]]) -> list[Issue] | None: ...
def encode(envelope: Envelope | Space, strict: bool = True, *, policy: Policy = ...) -> str: ...
def decode(data: str | Buffer, *, strict: bool = False, policy: Policy = ..., limits: Limits = ...) -> Envelope: ...
def all_clear(data: bytes) -> bool: ...
def check(envelope: Envelope | Space, policy: Policy = ..., *, strict: bool = False) -> list[Issue]: ...
