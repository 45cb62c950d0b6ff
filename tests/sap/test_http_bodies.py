"""Bodies that do not come, or are not wanted, over a real server: they are answered, and their connection ends."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import suppress

import httpx
import pytest
import uvicorn

from tests.sap.scenario import task
from turnwire import sap
from turnwire.errors import BadAnswer, Unanswered
from turnwire.sap.transports import http
from turnwire.sap.transports.http_client import LINES

HEAD = "POST {} HTTP/1.1\r\nHost: x\r\nContent-Type: {}\r\n{}\r\n\r\n"
JSON = "application/json"


async def drips(port: int, head: str) -> bytes:
    """What is answered to somebody who sends on, a byte at a time, until the connection is closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answer = bytearray()

    async def read() -> None:
        with suppress(ConnectionResetError):  # how a connection ends on which somebody sends on
            while piece := await reader.read(4096):
                answer.extend(piece)

    reading = asyncio.create_task(read())
    writer.write(head.encode())
    while not reading.done():
        await asyncio.sleep(0.02)
        if not writer.is_closing():
            writer.write(b" ")
    await reading
    writer.close()
    return bytes(answer)


@pytest.mark.parametrize(
    ("path", "kind", "length", "status"),
    [
        ("/tasks", JSON, "Content-Length: 100000", b"408"),
        ("/results", JSON, "Content-Length: 100000", b"408"),
        ("/tasks", JSON, "Content-Length: 100000000", b"413"),
        ("/tasks", "text/plain", "Content-Length: 100000", b"415"),
    ],
)
def test_who_sends_on_does_not_keep_the_connection(
    path: str, kind: str, length: str, status: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnwire.sap.transports.http.LINGER", 0.3)

    async def take(_: sap.Result) -> None:
        raise AssertionError("there is no Result")

    async def main() -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        app = sap.http.app(sap.Agent("clerk"), body_seconds=0.2, receive=take)
        server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="critical"))
        serving = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.02)
        answer = await drips(port, HEAD.format(path, kind, length))
        assert answer.split()[1] == status and b"\r\nconnection: close\r\n" in answer.lower()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(2):  # what was read to its end may be followed by more, whatever is answered
            writer.write(HEAD.format("/tasks", JSON, "Content-Length: 1").encode() + b"1")
            refused = await reader.readuntil(b"\r\n\r\n")
            assert refused.split()[1] == b"400" and b"connection: close" not in refused.lower()
            await reader.readexactly(int(refused.lower().partition(b"content-length: ")[2].split()[0]))
        writer.close()
        server.should_exit = True
        await serving

    asyncio.run(asyncio.wait_for(main(), 60))


class Streaming(httpx.AsyncBaseTransport):
    """Answers any request with a stream of Results, given as chunks."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"Content-Type": LINES}, content=self._chunks)


def test_a_line_of_a_stream_ends_with_a_line_feed_alone() -> None:
    """U+2028 and others end lines of Python, and stand in texts of JSON."""
    one = task("work.who", {})
    output = "a\u2028b\u2029c\x85d"
    texts = [sap.encode(sap.result_for(one, sap.Outcome(output, status=status), "B")) for status in ("RUNNING", None)]
    data = "\n".join(texts).encode()  # the last one without its end

    async def main(size: int) -> None:
        async def chunks() -> AsyncIterator[bytes]:
            for at in range(0, len(data), size):
                yield data[at : at + size]

        async with httpx.AsyncClient(transport=Streaming(chunks())) as raw:
            found = [result async for result in http.Client("http://b", client=raw).statuses(one)]
        assert [(result.status, result.output) for result in found] == [("RUNNING", output), ("SUCCEEDED", output)]

    for size in (1, 7, len(texts[0]) + 1, len(data)):
        asyncio.run(main(size))


def test_a_stream_of_results_has_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    one, sent = task("work.who", {}), 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1000
            yield b" " * 1000
            await asyncio.sleep(0)

    async def main() -> None:
        async with httpx.AsyncClient(transport=Streaming(endless())) as raw:
            with pytest.raises(BadAnswer, match="more than 50000 bytes"):
                _ = [result async for result in http.Client("http://b", client=raw, max_body=50_000).statuses(one)]
        assert sent <= 52_000
        raw = httpx.AsyncClient(transport=Streaming(endless()))
        with monkeypatch.context() as own:
            own.setattr("httpx.AsyncClient", lambda **_: raw)  # whose time limit is the client's
            client = http.Client("http://b", timeout=0.05, max_body=1 << 40)
        async with client:
            with pytest.raises(Unanswered, match="no Result"):
                _ = [result async for result in client.statuses(one)]

    asyncio.run(asyncio.wait_for(main(), 30))
