"""``turnwire mcp``: turnwire's tools for models, over the Model Context Protocol."""

from __future__ import annotations

import click

from turnwire.cli.outcome import GOOD


@click.command("mcp", short_help="Serve scan, validate, tokens, convert and extract as MCP tools.")
@click.option("--http", "port", type=click.IntRange(1, 65535), help="Serve HTTP at this port, path /mcp, on loopback.")
def command(port: int | None) -> int:
    """Serves turnwire's tools to a model: on standard input and output, or with --http on a port of 127.0.0.1.

    The tools read the text that they are given, and no files. Needs the extras mcp and schema.
    """
    from turnwire.cli import model_tools
    from turnwire.sap.transports import mcp

    async def serve() -> None:
        async with model_tools.agent() as agent:
            server = mcp.server(agent, name="turnwire")
            if port is None:
                from mcp.server.stdio import stdio_server

                async with stdio_server() as (read, write):
                    await server.run(read, write, server.create_initialization_options())
                return
            import uvicorn

            config = uvicorn.Config(server.streamable_http_app(), host="127.0.0.1", port=port, log_level="warning")
            await uvicorn.Server(config).serve()

    import asyncio

    asyncio.run(serve())
    return GOOD
