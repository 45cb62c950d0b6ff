"""Bodies that do not come, or are not wanted, over a real server: they are answered, and their connection ends."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

import pytest
import uvicorn

from turnwire import sap

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
