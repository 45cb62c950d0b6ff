"""Runs the codec of SSTP on both twins."""

from __future__ import annotations

import pytest

from turnwire.json.text import reader  # noqa: F401  (loads the package before its parts are swapped)
from turnwire.sstp import codec


@pytest.fixture
def sstp(core, monkeypatch):
    """The package with the cores of the backend under test."""
    import turnwire.sstp as package
    from turnwire.json import text as json_text

    text = core("json.text")
    monkeypatch.setattr(json_text, "_core", text)
    monkeypatch.setattr(json_text, "_writer", core("json.write"))
    strict = text.Reader("sstp", codec.KEYS)
    monkeypatch.setattr(codec, "_read", strict.read)
    monkeypatch.setattr(codec, "_read_source", strict.read_source)
    monkeypatch.setattr(codec, "_codec", codec.codec_of(core("json.codec"), strict.read_source))
    return package
