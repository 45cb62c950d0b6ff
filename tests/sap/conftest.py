"""Runs the tests of messages on both twins of the checker."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.cores import package_on

if TYPE_CHECKING:
    from tests.sap.hosts import Broker


@pytest.fixture
def twin(backend: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every call of decode, encode and check in this test goes through this twin."""
    package_on(backend, "sap", monkeypatch)
    return backend


@pytest.fixture(autouse=True, scope="session")
def one_tls_context() -> Iterator[None]:
    """No test speaks TLS: the certificates are read once for all clients, which takes 50 ms of CPU time."""
    with pytest.MonkeyPatch.context() as patch:
        if "httpx" in sys.modules:  # the codec is tested without it, too
            from httpx import _config

            made = functools.cache(_config.create_ssl_context)
            patch.setattr("httpx._transports.default.create_ssl_context", made)
        yield


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A nats-server for the tests of a file."""
    from tests.sap.hosts import Broker  # the codec is tested without any transport, too

    started = Broker(tmp_path_factory.mktemp("broker"))
    yield started
    started.kill()


@pytest.fixture(scope="module")
def nats_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a nats-server that takes messages of 1 MiB."""
    from tests.sap.hosts import Broker

    started = Broker(tmp_path_factory.mktemp("nats"), limit=1 << 20)
    yield started.url
    started.kill()
