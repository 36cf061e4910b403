"""What the demo's children do, each in a process of its own; arguments: JOB ADDRESS LOADOUT."""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from pydantic import JsonValue

from harness.subagents.child import Answer, ParentBrowser, connect
from harness.subagents.frames import Object

MEMBER: Mapping[str, JsonValue] = MappingProxyType({"name": "Ada", "mail": "ada@example.test"})
LOAD_MS = 90_000
"""The first load starts the browser, which takes long on a machine that is busy."""

PNG = b"\x89PNG\r\n\x1a\n"


class Logged:
    """A browser whose calls are noted, with how long each took."""

    def __init__(self, browser: ParentBrowser) -> None:
        self.calls: list[JsonValue] = []
        self._browser = browser

    async def __call__(self, tool: str, **params: JsonValue) -> Answer:
        start = time.perf_counter()
        answer = await self._browser.call(tool, params)
        ms = round((time.perf_counter() - start) * 1000, 1)
        self.calls.append({"tool": tool, "ok": answer.ok, "ms": ms, "text": answer.text})
        return answer


async def fill_form(call: Logged, address: str) -> list[str]:
    """The worker's job: join, and see that the page says so."""
    await call("browser_goto", url=address, timeout=LOAD_MS)
    await call("browser_fill", selector="input[name=name]", value=MEMBER["name"])
    await call("browser_fill", selector="input[name=mail]", value=MEMBER["mail"])
    await call("browser_click", selector="role=button[name='Join']")
    said = await call("browser_eval", expression=_UNTIL_SAID)
    return [f"the page says {said.text}"]


_UNTIL_SAID = """async () => {
  const status = document.querySelector("[role=status]");
  while (!status.textContent) await new Promise(requestAnimationFrame);
  return status.textContent;
}"""


async def find_faults(call: Logged, address: str) -> list[str]:
    """The first explorer's job: what fails while the page loads."""
    await call("browser_goto", url=address, timeout=LOAD_MS)
    await call("browser_eval", expression='fetch("prices").then(() => null)')  # once more, so that it has ended
    console = await call("browser_console", clear=False)
    network = await call("browser_network", status=500, verbose=True, clear=False)
    errors = [line for line in console.text.split("\n") if "] pageerror:" in line]
    return [*errors, *network.text.split("\n")[:1]]


async def take_picture(call: Logged, address: str) -> list[str]:
    """The second explorer's job: how the page looks."""
    await call("browser_goto", url=address, timeout=LOAD_MS)
    taken = await call("browser_screenshot", fullPage=True)
    if not taken.ok:
        return []
    data = await asyncio.to_thread(Path(taken.text).read_bytes)
    width, height = (int.from_bytes(data[at : at + 4], "big") for at in (16, 20))
    return [f"a picture of {width} x {height} px, {len(data)} bytes"] if data.startswith(PNG) else []


JOBS: Mapping[str, Callable[[Logged, str], Awaitable[list[str]]]] = MappingProxyType(
    {"form": fill_form, "faults": find_faults, "picture": take_picture}
)


async def work(job: str, address: str, loadout: Path) -> None:
    """Do one job, and report it."""
    async with connect(loadout) as browser:
        call = Logged(browser)
        saw: list[JsonValue] = [*await JOBS[job](call, address)]
        report: Object = {"saw": saw, "calls": call.calls}
        await browser.report(report)


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
