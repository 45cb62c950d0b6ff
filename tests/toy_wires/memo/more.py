"""The shape of memos for conversions, and their checklist."""

from tests.toy_wires.shared import checklist, shape

from .codec import Memo

SHAPE = shape(Memo, {name: name for name in ("sender", "text")})
CHECKLIST = checklist("Every message is a memo")
