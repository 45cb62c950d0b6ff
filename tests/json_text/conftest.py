"""The packages of SAP and SSTP on each core."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import turnwire.sap.codec
import turnwire.sstp.codec  # noqa: F401  (attributes of their packages from here on)
from turnwire import sap, sstp


@pytest.fixture
def package_of(core: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """The package of a wire, whose reading, judging and writing is that of the backend under test."""

    def found(wire: str) -> Any:
        package: Any = sap if wire == "sap" else sstp
        reader = core("json.text").Reader(wire, ())
        if wire == "sap":
            monkeypatch.setattr(sap.codec, "_core", core("json.codec"))
            monkeypatch.setattr(sap.codec, "_reader", reader)
        else:
            monkeypatch.setattr(sstp.codec, "_read_source", reader.read_source)
        made = package.codec.codec_of(core("json.codec"), reader.read_source)
        monkeypatch.setattr(package.codec, "_codec", made)
        return package

    return found
