"""A child's tools over stdio as an MCP server, so that an agent that is written elsewhere can be the child."""

import asyncio
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, TextContent, Tool

from harness.subagents.child import ParentBrowser
from harness.tools.verify_params import TOOLS, schema

NAME = "axtrial"


async def serve_stdio(browser: ParentBrowser) -> None:
    """Serve until the agent closes stdin, or the parent the connection."""
    server = _server(browser)

    async def serve() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    serving, gone = asyncio.create_task(serve()), asyncio.create_task(browser.gone.wait())
    try:
        await asyncio.wait({serving, gone}, return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()
    finally:
        serving.cancel()
        gone.cancel()


def _server(browser: ParentBrowser) -> "Server[Any]":
    async def list_tools(_context: Any, _params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_described(name) for name in browser.tools])

    async def call_tool(_context: Any, params: CallToolRequestParams) -> CallToolResult:
        answer = await browser.call(params.name, params.arguments or {})
        content = [TextContent(text=answer.text)]
        return CallToolResult(content=content, structured_content=answer.details, is_error=not answer.ok)

    return Server(NAME, on_list_tools=list_tools, on_call_tool=call_tool)


def _described(name: str) -> Tool:
    return Tool(name=name, description=" ".join((TOOLS[name].__doc__ or "").split()), input_schema=schema(name))
