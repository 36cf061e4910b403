"""A child's tools over stdio, asked by the MCP SDK's own client; and the child as a program that has no browser."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from harness.errors import UsageError
from harness.subagents.child import NotConnected, read_loadout
from harness.subagents.launch import python_program
from harness.tools.modes import READ_TOOLS, Agent
from harness.tools.verify_params import TOOLS

if TYPE_CHECKING:
    from tests.harness.subagents.conftest import Fake

ROOT = Path(__file__).resolve().parents[3]
ENVIRONMENT = {"PYTHONPATH": str(ROOT)}
BOUND_S = 40.0
INITIALIZE = (
    b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", '
    b'"capabilities": {}, "clientInfo": {"name": "agent", "version": "1"}}}\n'
)


async def test_an_agent_written_elsewhere_can_be_the_child(fake: "Fake") -> None:
    async with fake.host.place(Agent(kind="worker")) as place:
        program = python_program("-m", "harness.subagents.child", str(place.loadout))
        server = StdioServerParameters(command=program.argv[0], args=list(program.argv[1:]), env=dict(ENVIRONMENT))
        async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            listed = await session.list_tools()
            done = await session.call_tool("browser_goto", {"url": "http://example.test", "timeout": 5_000})
            failed = await session.call_tool("browser_eval", {"expression": "throw"})
        owners = fake.pages.owners()

    assert [tool.name for tool in listed.tools] == list(TOOLS)
    assert listed.tools[0].input_schema["required"] == ["url"]
    details = {"status": 200, "finalUrl": "http://example.test/"}
    assert (done.is_error, done.structured_content) == (False, details)
    assert [getattr(part, "text", None) for part in done.content] == [
        '{"status":200,"finalUrl":"http://example.test/"}'
    ]
    assert failed.is_error
    assert [getattr(part, "text", None) for part in failed.content] == ['browser_eval failed: it threw "Error: no"']
    assert owners in ((), ("child-1",))  # the agent's end ends the child, and with it the page
    assert fake.pages.owners() == ()


async def test_a_restricted_child_shows_three_tools(fake: "Fake") -> None:
    fake.mode = "Plan"
    async with fake.host.place(Agent(kind="explorer", tools=READ_TOOLS)) as place:
        program = python_program("-m", "harness.subagents.child", str(place.loadout))
        server = StdioServerParameters(command=program.argv[0], args=list(program.argv[1:]), env=dict(ENVIRONMENT))
        async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            listed = await session.list_tools()
            refused = await session.call_tool("browser_goto", {"url": "http://example.test"})
    assert sorted(tool.name for tool in listed.tools) == sorted(READ_TOOLS)
    assert [getattr(part, "text", None) for part in refused.content] == [
        "browser_goto refused: not among this owner's tools"
    ]


async def test_a_child_whose_parent_goes_ends_though_its_agent_stays(fake: "Fake") -> None:
    async with fake.host.place(Agent(kind="worker")) as place:
        program = python_program("-m", "harness.subagents.child", str(place.loadout))
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_exec(
            *program.argv, env=dict(ENVIRONMENT), stdin=pipe, stdout=pipe, stderr=pipe
        )
        assert child.stdin is not None
        async with asyncio.timeout(BOUND_S):
            child.stdin.write(INITIALIZE)
            assert child.stdout is not None
            assert b'"serverInfo"' in await child.stdout.readline()
            await fake.host.close()
            assert child.stderr is not None
            said = await child.stderr.read()
            assert (await child.wait(), said) == (NotConnected("").exit_code, b"the parent is gone\n")
        child.stdin.close()


@pytest.mark.parametrize("content", [None, b"", b"{", b"{}", b"[]"])
def test_without_a_loadout_there_is_no_tool(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "loadout.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=r"is not the loadout of a child$"):
        read_loadout(path)


def test_a_program_without_a_loadout_says_so(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "harness.subagents.child", str(tmp_path / "none")]
    ended = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=50, check=False, input="")
    assert (ended.returncode, ended.stdout, ended.stderr.endswith("is not the loadout of a child\n")) == (2, "", True)


def test_a_child_imports_no_browser() -> None:
    script = "import sys, harness.subagents.child; print(*sys.modules)"
    modules = subprocess.run(
        [sys.executable, "-c", script], env=ENVIRONMENT, capture_output=True, text=True, timeout=50, check=True
    ).stdout.split()
    forbidden = ("playwright", "websockets", "psutil", "harness.host", "harness.drivers", "harness.targets", "mcp")
    assert [name for name in modules if name.startswith(forbidden)] == []
