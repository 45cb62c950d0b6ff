"""Methods of SlipMessage, from which both twins take them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnwire import message as contract
from turnwire.errors import DecodeError, Reason
from turnwire.nslip.spec import MAX_INTEGER, STRING_SLOTS, WIRE, Act, Extra, FrameType, Slot

TYPE_CHECKING: bool = False
if TYPE_CHECKING:
    from typing import Self, TypedDict, Unpack

    class Changes(TypedDict, total=False):
        """The arguments of ``replace``."""

        conv_id: int
        turn: int
        src: int
        dst: int
        act: Act
        frame: FrameType
        slots: dict[Slot, Any]
        extra: dict[str, str]


ANNOTATIONS: dict[str, Any] = {
    "conv_id": int,
    "turn": int,
    "src": int,
    "dst": int,
    "act": Act,
    "frame": FrameType,
    "slots": dict[Slot, Any],
}
"""The fields of slipcore 0.1.0 and their types."""
FIELDS = tuple(ANNOTATIONS)


def undeletable(name: str) -> AttributeError:
    """The error of ``del message.src``: a message has all of its fields, always."""
    return AttributeError(f"a field of a SlipMessage cannot be deleted: {name!r}")


def state(message: Any) -> tuple[Any, ...]:
    """The seven fields and ``extra``, in the order of the constructor."""
    extra = message.extra
    return (*(getattr(message, name) for name in FIELDS), Extra() if extra is None else extra)


class DataclassAttribute:
    """An attribute of a dataclass, made when first asked for: the import of ``dataclasses`` costs more than all of
    turnwire, so only its users pay for it.

    The seven fields are those of slipcore 0.1.0. A message with fields in ``extra`` lacks these attributes, so that
    writers of dataclasses reject it instead of losing fields.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, message: Any, owner: type) -> Any:
        from dataclasses import make_dataclass

        if self.name == "__dataclass_fields__" and message is not None and message.extra:
            raise AttributeError("a dataclass has no place for extra: use to_dict, replace or turnwire.enc_hook")
        return vars(make_dataclass("SlipMessage", ANNOTATIONS.items()))[self.name]


class SlipMethods(contract.Message):
    """The contract of messages for SlipMessage, and what makes it the dataclass that slipcore's is."""

    __dataclass_fields__ = DataclassAttribute("__dataclass_fields__")
    __dataclass_params__ = DataclassAttribute("__dataclass_params__")
    __hash__ = None  # type: ignore[assignment]
    conv_id: int
    turn: int
    src: int
    dst: int
    act: Act
    frame: FrameType
    slots: dict[Slot, Any]
    if TYPE_CHECKING:
        extra: dict[str, str]
    else:
        __slots__ = ()
        __annotations__ = ANNOTATIONS

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
    ) -> None:
        self.conv_id = conv_id
        self.turn = turn
        self.src = src
        self.dst = dst
        self.act = act
        self.frame = frame
        self.slots = {} if slots is None else slots
        self.extra = Extra() if extra is None else extra

    __init__.__qualname__ = "SlipMessage.__init__"

    def __post_init__(self) -> None:
        """For those who make a dataclass by its fields alone."""
        if not hasattr(self, "extra"):
            setattr(self, "extra", Extra())  # noqa: B010  (a slot of the classes that inherit this)

    wire = contract.constant(WIRE)
    kind = contract.column("act", contract.name_of, "The name of the act.")
    sender = contract.column("src", str, "``src`` as decimal text.")
    receiver = contract.column("dst", str, "``dst`` as decimal text.")
    conversation = contract.column("conv_id", str, "``conv_id`` as decimal text.")
    sequence = contract.column("turn", contract.number_or_none, "``turn``.")
    time = contract.constant(None)  # nSLIP has none

    @contract.common
    def subject(self) -> str | None:
        """The slot TAG."""
        return contract.text_or_none(self.slots.get(Slot.TAG))

    def plain_values(self) -> dict[str, Any]:
        """The message as plain JSON values: act and frame by name, the header, each slot by name."""
        fields = self.to_dict()
        head = {name: fields.pop(name) for name in ("act", "frame", "conv_id", "src", "dst", "turn")}
        slots = {name.lower(): value for name, value in fields.pop("slots").items()}
        return {**head, **slots, **fields}

    def replace(self, **changes: Unpack[Changes]) -> Self:  # type: ignore[override]
        """Returns a copy with some fields replaced; it shares neither slots nor extra with this message."""
        values = dict(zip((*FIELDS, "extra"), state(self), strict=True))
        contract.refuse_unknown(type(self), changes, values)
        values["slots"] = dict(self.slots)
        values["extra"] = copy_extra(self.extra)
        cls: Any = type(self)
        return cls(**{**values, **changes})  # type: ignore[no-any-return]

    def to_dict(self) -> dict[str, Any]:
        """Returns a dict of JSON values: names for act, frame and slots; ``extra`` only if there is one."""
        result: dict[str, Any] = {name: getattr(self, name) for name in FIELDS[:4]}
        result["act"] = getattr(self.act, "name", self.act)
        result["frame"] = getattr(self.frame, "name", self.frame)
        result["slots"] = {getattr(slot, "name", slot): value for slot, value in self.slots.items()}
        if self.extra:
            result["extra"] = [
                {"prefix": prefix, "value": value, "before": getattr(self.extra, "before", {}).get(prefix)}
                for prefix, value in self.extra.items()
            ]
        return result

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Restores the message from the result of :meth:`to_dict`; accepts both names and codes for act, frame and
        slots.

        Raises DecodeError(missing_field|unknown_key|unknown_act|unknown_frame|unknown_slot|wrong_type|negative|
        too_large) with the field in ``path``.
        """
        contract.expect_fields(fields, cls, WIRE, FIELDS[:6], ("slots", "extra"))
        for name in FIELDS[:4]:
            _expect_number(fields[name], f"/{name}")
        slots = {} if fields.get("slots") is None else fields["slots"]
        contract.expect_mapping(slots, WIRE, "/slots")
        extra = _extra_from(() if fields.get("extra") is None else fields["extra"])
        codes = {str(int(slot)): int(slot) for slot in Slot}  # which are text where they are keys of JSON
        by_slot = {
            _member(Slot, codes.get(key, key), Reason.UNKNOWN_SLOT, f"/slots/{key}"): value
            for key, value in slots.items()
        }
        if len(by_slot) < len(slots):
            raise _fault(Reason.DUPLICATE, "a slot is given by both name and code", "/slots")
        for slot, value in by_slot.items():
            if slot not in STRING_SLOTS:
                _expect_number(value, f"/slots/{slot.name}")
            elif not isinstance(value, str):
                raise _fault(Reason.WRONG_TYPE, f"expected a string, not {type(value).__name__}", f"/slots/{slot.name}")
        frame: Any = fields["frame"]
        if not ("f" in extra and isinstance(frame, int)):
            frame = _member(FrameType, frame, Reason.UNKNOWN_FRAME, "/frame")
        make: Any = cls
        return make(  # type: ignore[no-any-return]
            *(fields[name] for name in FIELDS[:4]),
            _member(Act, fields["act"], Reason.UNKNOWN_ACT, "/act"),
            frame,
            by_slot,
            extra=extra or None,
        )

    @classmethod
    def _schema(cls) -> dict[str, Any]:
        kept = {"prefix": {"type": "string"}, "value": {"type": "string"}, "before": {"type": ["integer", "null"]}}
        number = {"type": "integer", "minimum": 0, "maximum": MAX_INTEGER}
        slots = {slot: {"type": "string"} if slot in STRING_SLOTS else number for slot in Slot}
        return {
            "type": "object",
            "title": "SlipMessage",
            "properties": {
                **dict.fromkeys(FIELDS[:4], number),
                "act": {"enum": [*Act.__members__, *map(int, Act)]},
                "frame": {"enum": [*FrameType.__members__, *map(int, FrameType)]},  # and what the field f of extra kept
                "slots": {
                    "type": ["object", "null"],
                    "properties": {key: of for slot, of in slots.items() for key in (slot.name, str(int(slot)))},
                    "additionalProperties": False,
                },
                "extra": {
                    "type": ["array", "null"],
                    "items": {"type": "object", "properties": kept, "required": ["prefix", "value"]},
                },
            },
            "required": list(FIELDS[:6]),
            "additionalProperties": False,
        }

    def __repr__(self) -> str:
        """The repr of slipcore 0.1.0; ``extra`` is shown only where there is one."""
        act = getattr(self.act, "name", self.act)
        frame = getattr(self.frame, "name", self.frame)
        extra = f" extra={dict(self.extra)}" if self.extra else ""
        return (
            f"<SlipMessage conv={self.conv_id} turn={self.turn} src={self.src} dst={self.dst} "
            f"act={act} frame={frame} slots={self.slots}{extra}>"
        )

    def __eq__(self, other: object) -> bool:
        """True if all fields are equal; slots compare as dicts do, without their order."""
        if type(self) is not type(other):
            return NotImplemented
        return state(self) == state(other)

    def _repr_html_(self) -> str:
        from turnwire.showing import fields

        shown = [(name, getattr(self, name)) for name in FIELDS]
        return fields(type(self).__name__, [*shown, *([("extra", dict(self.extra))] if self.extra else [])])

    def __copy__(self) -> Self:
        """The copy that ``copy.copy`` makes of a dataclass: the same slots dict in a second message."""
        return _copied(self, state(self), _added(self))  # type: ignore[no-any-return]

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        from copy import deepcopy

        return _copied(self, *deepcopy((state(self), _added(self)), memo))  # type: ignore[no-any-return]

    def __reduce__(self) -> tuple[Any, ...]:
        """A plain message names no class, so that native pickles load where turnwire is pure and back."""
        if _is_plain(type(self)):
            return rebuild, (None, *state(self))
        return rebuild, (type(self), *state(self)), (None, _added(self))


def _is_plain(cls: type) -> bool:
    """True for SlipMessage itself, False for a subclass."""
    return "__wire__" in vars(cls)


def _added(message: Any) -> dict[str, Any]:
    """The attributes that a subclass has beyond the fields of a message."""
    if _is_plain(type(message)):
        return {}
    kept: Any = object.__getstate__(message)
    attributes, slots = kept if isinstance(kept, tuple) else (kept, {})
    return {name: value for name, value in {**(attributes or {}), **slots}.items() if name not in (*FIELDS, "extra")}


def _copied(message: Any, fields: tuple[Any, ...], added: dict[str, Any]) -> Any:
    made = rebuild(type(message), *fields)
    for name, value in added.items():
        setattr(made, name, value)
    return made


def rebuild(cls: Any, *fields: Any) -> Any:
    """The other half of ``SlipMessage.__reduce__``. The constructor of a subclass is not called."""
    if cls is None:
        from turnwire.nslip.codec import SlipMessage

        cls = SlipMessage
    *values, extra = fields
    if _is_plain(cls):
        return cls(*values, extra=extra)
    made = cls.__new__(cls)
    next(base for base in cls.__mro__ if _is_plain(base)).__init__(made, *values, extra=extra)
    return made


def copy_extra(extra: Any) -> Any:
    """A copy of ``extra`` with its positions."""
    if not isinstance(extra, Extra):
        return dict(extra) if extra else extra
    result = Extra(extra)
    result.before = dict(extra.before)
    return result


def _extra_from(items: Any) -> Extra:
    """The kept fields of ``to_dict``; what is in them is judged when the message is encoded."""
    if not isinstance(items, (list, tuple)):
        raise _fault(Reason.WRONG_TYPE, "extra must be a list", "/extra")
    extra = Extra()
    for index, item in enumerate(items):
        fields = item if isinstance(item, Mapping) else {}
        prefix, value, before = (fields.get(name) for name in ("prefix", "value", "before"))
        if not (isinstance(prefix, str) and isinstance(value, str)) or type(before) not in (int, type(None)):
            text = "a kept field is a mapping with the texts prefix and value, and the integer before"
            raise _fault(Reason.WRONG_TYPE, text, f"/extra/{index}")
        if prefix in extra:
            raise _fault(Reason.DUPLICATE, f"the field {prefix} appears twice", f"/extra/{index}")
        extra[prefix] = value
        if before is not None:
            extra.before[prefix] = before
    return extra


def _expect_number(value: object, path: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _fault(Reason.WRONG_TYPE, f"expected an integer, not {type(value).__name__}", path)
    if not 0 <= value <= MAX_INTEGER:
        reason = Reason.NEGATIVE if value < 0 else Reason.TOO_LARGE
        raise _fault(reason, "integers must be from 0 to 2**64-1", path)


def _member(enum: Any, value: Any, reason: Reason, path: str) -> Any:
    try:
        if isinstance(value, str):
            return enum[value]
        if isinstance(value, int) and not isinstance(value, bool):
            return enum(value)
    except (KeyError, ValueError):
        pass
    raise _fault(reason, f"{value!r} is not one of {', '.join(enum.__members__)}", path)


def _fault(reason: Reason, text: str, path: str) -> DecodeError:
    return DecodeError(reason, text, wire=WIRE, path=path or None)
