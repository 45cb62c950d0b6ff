"""The conformance vectors of SSTP."""

from __future__ import annotations

import json

import pytest

from tests import vectors
from turnwire.errors import DecodeError, EncodeError


@vectors.cases("sstp")
def test_read(sstp, case):
    if case["read"] == "error":
        with pytest.raises(DecodeError) as caught:
            sstp.decode(case["text"])
        assert caught.value.wire == "sstp" and caught.value.offset is not None and caught.value.text
        return
    message = sstp.decode(case["text"])
    severities = {issue.severity for issue in sstp.check(message)}
    assert ("warning" in severities) == (case["read"] == "issue")
    assert "error" not in severities


@vectors.cases("sstp")
def test_write(sstp, case):
    if case["write"] is None or case["read"] == "error":
        return
    message = sstp.decode(case["text"])
    assert json.dumps(json.loads(sstp.encode(message, strict=False))) == json.dumps(json.loads(case["text"]))
    if case["write"] == "ok":
        assert json.dumps(json.loads(sstp.encode(message))) == json.dumps(json.loads(case["text"]))
    else:
        with pytest.raises(EncodeError):
            sstp.encode(message)
