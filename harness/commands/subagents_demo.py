"""What `axtrial subagents demo` does, and how it looks."""

import asyncio

from rich.console import Group
from rich.table import Table
from rich.text import Text

from formatters.escape import one_line
from harness.config import Settings
from harness.host.browsers import opened_browsers
from harness.host.pages import opened_pages
from harness.subagents.demo.app import demo_app
from harness.subagents.demo.run import Seen, Shown, run_demo
from harness.subagents.launch import subagent_host
from harness.targets.chrome import find_chrome
from harness.tools.modes import BUILD

_STYLES = {"parent": "bold cyan", "worker": "bold magenta", "explorer": "bold green"}


async def demo(settings: Settings) -> Shown:
    """A parent and three child processes verify the demo's app.

    Raises:
        TargetError, DriverError: there is no browser.
        SetupError, ProcessNotStarted: no child can be started here.
    """
    await asyncio.to_thread(find_chrome, settings)  # its absence is one sentence, and not one of each child

    async def mode() -> str:
        return BUILD

    async with (
        demo_app() as app,
        opened_browsers(settings) as browsers,
        opened_pages(browsers.make) as pages,
        subagent_host(pages, mode) as host,
    ):
        pages.turn_on()
        return await run_demo(host, app)


def demo_json(shown: Shown) -> dict[str, object]:
    """The JSON of the command (docs/cli.md)."""
    return {
        "ok": shown.ok,
        "seconds": round(shown.seconds, 3),
        "most_pages": shown.most_pages,
        "owners": [one.model_dump() for one in shown.seen],
    }


def demo_view(shown: Shown) -> Group:
    """Who did what, what came of it, and whether it is so."""
    table = Table("owner", "job", "call", "ms", "answer", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.columns[3].justify = "right"
    for column in (4,):
        table.columns[column].overflow = "fold"
    for one in shown.seen:
        _add(table, one)
    calls = sum(len(one.calls) for one in shown.seen)
    end = f"{len(shown.seen)} owners, {calls} calls, at most {shown.most_pages} pages at a time, {shown.seconds:.1f} s"
    mark = Text("all seen", "bold green") if shown.ok else Text("something was not seen", "bold red")
    return Group(table, Text.assemble(mark, f": {end}"))


def _add(table: Table, one: Seen) -> None:
    for number, call in enumerate(one.calls):
        owner = Text(f"{one.owner} ({one.kind})" if one.owner != one.kind else one.owner, _STYLES[one.kind])
        first = one_line(call.text.partition("\n")[0])
        told = Text(f"{first[:120]}..." if len(first) > 120 else first, "" if call.ok else "red")
        tool = call.tool.removeprefix("browser_")
        table.add_row(owner if number == 0 else "", one.job if number == 0 else "", tool, f"{call.ms:.0f}", told)
    mark = Text("saw", "green") if one.ok else Text("not seen", "red")
    for line in one.saw or ["nothing"]:
        table.add_row("", "", mark, "", Text(one_line(line), "bold"))
    table.add_section()
