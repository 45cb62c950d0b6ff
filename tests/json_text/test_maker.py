"""Objects made of the text that a message holds: one for each message, whoever asks first, and however often."""

from __future__ import annotations

import pytest


class Message:
    __slots__ = ("_fields", "_held")


def test_an_object_is_made_once_and_the_text_is_let_go(core):
    read = []
    maker = core("json.held").Maker(Message._fields, Message._held, lambda text: {"n": read.append(text)})
    message = Message()
    with pytest.raises(AttributeError):
        maker(message)
    message._held = "text"
    first = maker(message)
    assert maker(message) is first is message._fields
    assert read == ["text"] and not hasattr(message, "_held")


def test_who_was_overtaken_gets_the_object_of_the_other(core):
    """As if another thread asked while the text is read."""
    message, inner = Message(), []

    def read(text):
        if not inner:
            inner.append(None)
            inner[0] = maker(message)
        return {"text": text}

    maker = core("json.held").Maker(Message._fields, Message._held, read)
    message._held = "text"
    found = maker(message)
    assert found is inner[0] is message._fields and found == {"text": "text"}


def test_what_cannot_be_read_is_asked_again(core):
    def read(text):
        raise ValueError(text)

    message = Message()
    message._held = "text"
    maker = core("json.held").Maker(Message._fields, Message._held, read)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"^text$"):
            maker(message)
    assert message._held == "text" and not hasattr(message, "_fields")
