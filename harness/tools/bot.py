"""The tools of a PersonaBot, over the tabs that one call may use. They raise what refuses a call.

Answers are our own sentences. Page text in them is quoted and bounded, and native error text never reaches them.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from pydantic import JsonValue, ValidationError

from formatters.catalog import get
from formatters.errors import MissingRead
from formatters.escape import json_string
from formatters.render import render
from harness.drivers.base import Dialog as OpenDialog
from harness.drivers.base import DriverPage
from harness.host.calls import BadCall
from harness.host.tab import Tab
from harness.host.tabs import BotTabs, TabInfo
from harness.tools import params
from harness.tools.answer import Answer
from harness.tools.files import upload_file
from observe.capture import Body
from observe.errors import AuthorityChanged, DialogOpen, ObservationError, Refusal
from observe.limits import MAX_DIALOG_CHARS, MAX_VALUE_CHARS

MAX_ALERTS_TOLD = 5
"""A page can open alerts without end; an answer must not grow with them."""

MAX_TABS_TOLD = 50
MAX_URL_TOLD = 200

_KEY_NAMES = (
    "Enter Escape Tab Backspace Delete Space Home End PageUp PageDown ArrowUp ArrowDown ArrowLeft ArrowRight "
    "F1 F2 F3 F4 F5 F6 F7 F8 F9 F10 F11 F12"
)
KEYS = frozenset(_KEY_NAMES.split())
"""Keys by name; any single character is a key too."""

TakeoverState = Literal["none", "offered", "taken", "released", "expired"]


class Takeovers(Protocol):
    """How a person is asked to take over. The link goes to the person alone: who has it can end a pause."""

    def offer(self, bot: str) -> None:
        """Make a link and give it to a person."""
        ...

    def status(self, bot: str) -> TakeoverState:
        """How the latest request of the bot stands."""
        ...

    async def finished(self, bot: str, timeout_s: float) -> TakeoverState:
        """How it stands once the person has let go or the link has ended, or after `timeout_s` seconds."""
        ...


TAKEOVER_SENTENCES: Mapping[TakeoverState, str] = {
    "none": "No person was asked to take over.",
    "offered": "A person was asked to take over, and has not done so yet.",
    "taken": "A person has taken over; the browser is paused.",
    "released": "The person has let go; observe before you act.",
    "expired": "No person took over in time.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BotTools:
    """The tools of the bots of one provider.

    `formatter` decides which read is made and how it is shown; `bounded`: of a tree no more is read than is shown,
    where formatter and driver can. `uploads` is the folder from which files may be uploaded; None: none may.
    `takeovers` None: there is no person.
    """

    formatter: str
    bounded: bool = False
    uploads: Path | None = None
    takeovers: Takeovers | None = None

    async def run(self, tabs: BotTabs, tool: str, arguments: Mapping[str, JsonValue]) -> Answer:
        """Carry out one call; its stages are in `tabs.stages`.

        Raises:
            BadCall: there is no such tool, or its parameters are wrong.
            ObservationError, TargetError, DriverError: as the tab or the browser refuses or fails.
        """
        given = _validated(tool, arguments)
        try:
            return await self._dispatch(tabs, given)
        except AuthorityChanged:
            raise  # nothing that the page says goes with it
        except Refusal as refusal:
            refusal.message += _told_by_current(tabs)
            raise

    async def _dispatch(self, tabs: BotTabs, given: object) -> Answer:
        match given:
            case params.Observe():
                return await self._observe(tabs)
            case params.Screenshot():
                with tabs.stages.measure("act"):
                    taken = await tabs.current.page.screenshot()
                return Answer(text=f"Took a screenshot ({len(taken)} bytes).", screenshot=taken)
            case params.Dialog():
                return await _answer_dialog(tabs, given)
            case params.Wait():
                page = tabs.current.page
                _refuse_dialog(page)
                with tabs.stages.measure("wait"):
                    await asyncio.sleep(given.ms / 1000)
                return Answer(text=f"Waited {given.ms} ms.{_told(page)}")
            case params.Takeover():
                return await self._take_over(tabs, given)
            case params.Tabs():
                return await _tabs(tabs, given)
            case params.Open():
                async with _attached(tabs, new=not tabs.has_current) as tab:
                    return await _load(tabs, tab, given.url)
            case _:
                tab = tabs.current
                with tabs.stages.measure("act"):
                    said = await self._act(tab, given)
                return await _done(tabs, tab.page, said)

    async def _observe(self, tabs: BotTabs) -> Answer:
        formatter = get(self.formatter)
        body: Body = "text" if formatter.needs == "text" else "ax"
        tab = tabs.current
        start = time.perf_counter()
        try:
            filled = formatter.filled if self.bounded else None
            observation = await tab.observe(body, filled, joined=formatter.joined)
        except ObservationError:
            tabs.stages.add(body, (time.perf_counter() - start) * 1000)
            raise
        tabs.stages.add("dom", observation.cost.dom_ms)
        tabs.stages.add(body, observation.cost.total_ms - observation.cost.dom_ms)
        try:
            with tabs.stages.measure("format"):
                rendering = render(observation, self.formatter)
        except MissingRead as error:
            raise BadCall(f"this driver does not read what the formatter {self.formatter} needs.") from error
        return Answer(text=rendering.text, observation=observation, rendering=rendering)

    async def _act(self, tab: Tab, given: object) -> str:
        page = tab.page
        match given:
            case params.Click():
                await _click(tab, given)
                return "Clicked."
            case params.Type():
                now = await page.type(await tab.target(given.ref), given.text)
                if now is None or now == given.text[:MAX_VALUE_CHARS]:
                    return "Typed."
                return f"Typed. The field now holds {json_string(now)}."
            case params.SelectOption():
                labels = (given.option,) if isinstance(given.option, str) else tuple(given.option)
                await page.select_option(await tab.target(given.ref), labels)
                return "Selected."
            case params.PressKey():
                if given.key not in KEYS and not (len(given.key) == 1 and given.key.isprintable()):
                    raise BadCall(f"there is no key {json_string(given.key)}.")
                await page.press_key(given.key)
                return "Pressed."
            case params.Scroll():
                moved = await page.scroll(given.amount if given.direction == "down" else -given.amount)
                return f"Scrolled {abs(moved)} px {given.direction}."
            case params.Upload():
                path = upload_file(self.uploads, given.path)
                await page.upload(None if given.ref is None else await tab.target(given.ref), path)
                return f"Uploaded {json_string(path.name)}."
            case _:
                raise BadCall("this tool does nothing.")

    async def _take_over(self, tabs: BotTabs, given: params.Takeover) -> Answer:
        if self.takeovers is None:
            raise BadCall("there is no person who could take over.")
        match given.action:
            case "request":
                self.takeovers.offer(tabs.bot)
                state = self.takeovers.status(tabs.bot)
            case "status":
                state = self.takeovers.status(tabs.bot)
            case "await":
                with tabs.stages.measure("wait"):
                    state = await self.takeovers.finished(tabs.bot, given.timeout_ms / 1000)
        return Answer(text=TAKEOVER_SENTENCES[state])


def _validated(name: str, arguments: Mapping[str, JsonValue]) -> object:
    model = params.TOOLS.get(name)
    if model is None:
        raise BadCall(f"there is no tool {json_string(name[:40])}; there are {', '.join(params.TOOLS)}.")
    try:
        return model.model_validate(arguments)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])[:80]
        at = f"{json_string(where)}: " if where else ""
        said = first["msg"].removeprefix("Value error, ")[:200]
        raise BadCall(f"{name}: {at}{said}.") from error


@asynccontextmanager
async def _attached(tabs: BotTabs, *, new: bool) -> AsyncIterator[Tab]:
    """The current tab, or a new one, for which bringing up a browser is a stage of its own."""
    start = time.perf_counter()
    async with tabs.opening(new=new) as tab:
        if new:
            tabs.stages.add("attach", (time.perf_counter() - start) * 1000)
        yield tab


async def _load(tabs: BotTabs, tab: Tab, url: str) -> Answer:
    with tabs.stages.measure("navigate"):
        await tab.page.navigate(url)
    return await _done(tabs, tab.page, f"Opened {json_string(url[:MAX_URL_TOLD])}.")


async def _click(tab: Tab, given: params.Click) -> None:
    if given.ref is not None:
        await tab.page.click(await tab.target(given.ref))
    elif given.x is not None and given.y is not None:
        await tab.page.click_at(given.x, given.y)


async def _tabs(tabs: BotTabs, given: params.Tabs) -> Answer:
    match given.action:
        case "open":
            async with _attached(tabs, new=True) as tab:
                if given.url is not None:
                    return await _load(tabs, tab, given.url)
                return Answer(text="Opened a new tab, which is now the current one.")
        case "select":
            await tabs.select(given.target_id or "")
            return Answer(text="Selected. Refs of other tabs do not count here; observe.")
        case "close":
            await tabs.close(given.target_id or "")
            return Answer(text="Closed.")
        case "list":
            return Answer(text=_listed(await tabs.list()))


def _listed(own: tuple[TabInfo, ...]) -> str:
    if not own:
        return "You have no tabs."
    lines = [
        f"- {tab.target_id}{' (current)' if tab.current else ''}: "
        + ("not observed yet" if tab.url is None else json_string(tab.url[:MAX_URL_TOLD]))
        for tab in own[:MAX_TABS_TOLD]
    ]
    if (more := len(own) - MAX_TABS_TOLD) > 0:
        lines.append(f"{more} more tabs are not listed.")
    return "\n".join(("Your tabs:", *lines))


async def _answer_dialog(tabs: BotTabs, given: params.Dialog) -> Answer:
    page = tabs.current.page
    if page.dialog is None:
        raise BadCall("no native dialog is open.")
    with tabs.stages.measure("act"):
        await page.answer_dialog(given.accept, given.text)
    return await _done(tabs, page, "Accepted the dialog." if given.accept else "Dismissed the dialog.")


async def _done(tabs: BotTabs, page: DriverPage, said: str) -> Answer:
    """The action was carried out: let the page settle, and tell what dialogs it opened."""
    with tabs.stages.measure("settle"):
        await page.settle()
    waits = "" if page.dialog is None else " Answer it with the tool dialog."
    return Answer(text=said + _told(page) + waits)


def _refuse_dialog(page: DriverPage) -> None:
    if (dialog := page.dialog) is not None:
        raise DialogOpen(f"A native {dialog.kind} dialog is open; answer it with the tool dialog.")


def _told_by_current(tabs: BotTabs) -> str:
    return _told(tabs.current.page) if tabs.has_current else ""


def _told(page: DriverPage) -> str:
    """The dialogs that the page opened meanwhile: alerts are accepted, others wait."""
    alerts = page.take_alerts()
    told = [f" The page showed the alert {_quote(alert)}, which was accepted." for alert in alerts[:MAX_ALERTS_TOLD]]
    if (more := len(alerts) - MAX_ALERTS_TOLD) > 0:
        told.append(f" {more} more alerts were accepted.")
    if (dialog := page.dialog) is not None:
        told.append(f" The {dialog.kind} dialog that is open says {_quote(dialog)}.")
    return "".join(told)


def _quote(dialog: OpenDialog) -> str:
    return json_string(dialog.message[:MAX_DIALOG_CHARS])
