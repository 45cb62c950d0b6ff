"""Tables of rules for the messages of a JSON wire. Twin of ``_native/json/codec.pyx``, which leaves all to the wire.

The compiled twin reads, judges and writes in one pass what surely is good. Of all else it says None or False, as this
one always does: then the rules of the wire, which exist once and in Python, decide and choose the words.
"""

from __future__ import annotations

from _thread import RLock  # threading would cost the import of it
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple


class Row(NamedTuple):
    """One field of an object.

    kind: one of the kinds of ``_native/json/rules.h``, in lower case. must: whether its absence is a fault. mark:
    "look" (its being there is worth a closer look), "at" (an "@" in it is), "secrets" (what looks like one is),
    "writing" (strict writing needs it), "ruled" (a policy decides by it), "lent" (it may stand in the header instead)
    or "". words: its closed set; clean: those that are not worth a closer look, if not all are. inner: the rules of a
    record.
    """

    name: str
    kind: str
    must: bool = False
    nullable: bool = False
    mark: str = ""
    words: tuple[str, ...] = ()
    clean: tuple[str, ...] = ()
    inner: Rules | None = None


class Rules:
    """The rules of one object."""

    def __init__(self, rows: Iterable[Row]) -> None:
        """Takes what the compiled twin takes."""

    def follows(self, fields: Any, /) -> bool:
        """True if a dict surely follows the rules; tuples are arrays, and subclasses of str texts."""
        return False


class Kind(NamedTuple):
    """A kind of message.

    cls: its class, with the slots ``_fields``, ``_source`` and ``_text``. rules: those of its object, if not those that
    all kinds share. chosen: the rules of the object that the kind chooses. foreign: fields that make an object none of
    this kind. lax: whether nothing is to be said about one that strict writing does not take.
    """

    cls: type[Any]
    rules: Rules | None = None
    chosen: Rules | None = None
    foreign: tuple[str, ...] = ()
    lax: bool = False


class FieldPolicy(NamedTuple):
    """A policy that decides by some fields of a message, in the order of their rows: by those that are marked "ruled".

    known: their values -> whether it wants the field ``needed``, and what it remarks; for what it allows. learn: gives
    that for a message, None for what it does not allow. slot: where a message holds the remarks.
    """

    fields: tuple[str, ...]
    known: dict[tuple[Any, ...], tuple[bool, tuple[Any, ...]]]
    needed: str
    learn: Callable[[Any], tuple[bool, tuple[Any, ...]] | None]
    slot: Any


class Codec:
    """Reads, judges and writes messages of which surely no rule has anything to say.

    Args:
        kinds: the kinds of message; where ``rules`` have a field of kind "choice", in the order of its words.
        rules: what the objects of all kinds have in common.
        read_source: reads a text into an object, which it returns with the text where writing it gives that again;
            takes the text and the limits.
        wanted: (the object, its field) that strict writing needs, where ``rules`` mark one so.
        doubtful: tells whether strict writing may refuse or change a sound message that is worth a closer look.
        policy: what else decides whether there is something to say. Keys without a rule, and texts that are not as they
            are written, are then for the wire; of a text whose keys are in the order of the rules a message holds the
            text alone, whatever there is to say.

    ``_source`` of a message is None if something may have to be said; else True, or the text that it was read from,
    where writing gives just that.
    """

    def __init__(
        self,
        kinds: Iterable[Kind],
        rules: Rules,
        read_source: Callable[..., Any],
        *,
        wanted: Any = None,
        doubtful: Any = None,
        policy: FieldPolicy | None = None,
    ) -> None:
        """Takes what the compiled twin takes."""

    def read(self, data: str | bytes, /) -> Any:
        """The message of a text, read within the usual limits."""

    def made(self, fields: dict[str, Any], source: str | bytes | None, /) -> Any:
        """The message over an object; source: its text, where writing it gives that again."""

    def is_clean(self, message: Any, /) -> Any:
        """True if a message by itself certainly has no issues, or the list of those that it certainly has."""
        return False

    def text(self, message: Any, strict: bool, /) -> Any:
        """The text of a message."""


def quiet(value: Any, /) -> bool:
    """True if certainly nothing inside a value looks like a secret."""
    return False


_filling = RLock()


class Maker:
    """Gives the object of a message, which it makes of the text that the message holds.

    Args:
        fields, source: the descriptors of the message's slots for its object (empty as yet) and for its text.
        read: reads a text, which was found good, into an object.

    It gives the same object to whoever asks, on whatever thread. Raises AttributeError for a message that has neither.
    """

    __slots__ = ("fields", "source", "read")

    def __init__(self, fields: Any, source: Any, read: Callable[[Any], dict[str, Any]]) -> None:
        self.fields = fields
        self.source = source
        self.read = read

    def __call__(self, message: Any, /) -> dict[str, Any]:
        try:
            text = self.source.__get__(message)  # first: it goes when the object, once made, is handed out
        except AttributeError:
            text = None
        try:
            return self.fields.__get__(message)  # type: ignore[no-any-return]
        except AttributeError:
            if text is None:
                raise
        fields = self.read(text)
        with _filling:
            try:
                return self.fields.__get__(message)  # type: ignore[no-any-return]
            except AttributeError:
                self.fields.__set__(message, fields)
        return fields


def member(made: Any, name: str, put: Callable[[Any, Any], None]) -> Any:
    """An attribute of messages that is a member of their object, None where there is none: ``made`` gives the object,
    ``put`` sets the member, to None where it is deleted."""
    return property(lambda message: made(message).get(name), put, lambda message: put(message, None))


def copied(value: Any, other: Callable[[Any], Any]) -> Any:
    """A copy, through and through, of a JSON value. ``other`` copies what is none: objects of other classes, and a dict
    with a key that is no str."""
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is list:
        return [copied(item, other) for item in value]
    if kind is not dict or any(type(name) is not str for name in value):
        return other(value)
    return {name: copied(item, other) for name, item in value.items()}


_SCALARS = frozenset({str, int, float, bool, type(None)})
