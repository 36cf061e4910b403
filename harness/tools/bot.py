"""The ref-based tools of a PersonaBot: one call in, one answer out, whatever happens.

Answers are our own sentences. Page text in them is quoted and bounded, and native error text never reaches them.
"""

import asyncio
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue, ValidationError

from formatters.catalog import get
from formatters.escape import json_string
from formatters.render import Rendering, render
from harness.drivers.base import Dialog as OpenDialog
from harness.host.tab import Tab
from harness.tools import params
from harness.tools.stages import Stages
from observe.capture import Body
from observe.errors import DialogOpen, DriverGone, MalformedRead, ObservationError, Refusal
from observe.limits import MAX_DIALOG_CHARS, MAX_VALUE_CHARS
from observe.model import Observation

MAX_UPLOAD_BYTES = 64 * 1024 * 1024
MAX_ALERTS_TOLD = 5
"""A page can open alerts without end; an answer must not grow with them."""

REFUSED = "Refused: "
FAILED = "Failed: "

_KEY_NAMES = (
    "Enter Escape Tab Backspace Delete Space Home End PageUp PageDown ArrowUp ArrowDown ArrowLeft ArrowRight "
    "F1 F2 F3 F4 F5 F6 F7 F8 F9 F10 F11 F12"
)
KEYS = frozenset(_KEY_NAMES.split())
"""Keys by name; any single character is a key too."""


_NO_REFUSAL = frozenset({"ok", "bad_call", "malformed_read"})


class BadCall(Exception):
    """A call of an unknown tool, or with wrong parameters: the bot's fault, answered and counted as an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the bot is told. `outcome` is `ok`, a refusal's kind, `bad_call` or `malformed_read`."""

    text: str
    outcome: str = "ok"
    observation: Observation | None = None
    rendering: Rendering | None = None
    screenshot: bytes | None = None
    input_sent: bool | None = None
    fault: bool = False
    """The driver, not the page or the bot, made the call impossible."""

    @property
    def refused(self) -> bool:
        """Whether a refusal of docs/observation.md, section 5, was the answer."""
        return self.outcome not in _NO_REFUSAL


@dataclass(slots=True)
class BotTools:
    """The tools over one tab. `formatter` decides which read is made and how it is shown."""

    tab: Tab
    formatter: str
    stages: Stages = field(default_factory=Stages)

    async def call(self, name: str, arguments: Mapping[str, JsonValue]) -> Answer:
        """Carry out one call. Never raises for what a page, a bot or a driver does.

        The call's stages are in `stages` afterwards.
        """
        self.stages = Stages()
        try:
            answer = await self._dispatch(_validated(name, arguments))
        except BadCall as error:
            return Answer(text=f"{FAILED}{error}", outcome="bad_call")
        except Refusal as refusal:
            text = f"{REFUSED}{refusal.message}{self._told()}"
            fault = isinstance(refusal, DriverGone)
            return Answer(text=text, outcome=refusal.kind, input_sent=refusal.input_sent, fault=fault)
        except MalformedRead:
            text = f"{FAILED}the driver gave an answer of an unknown form."
            return Answer(text=text, outcome="malformed_read", fault=True)
        return answer

    async def _dispatch(self, given: object) -> Answer:
        page = self.tab.page
        match given:
            case params.Observe():
                return await self._observe()
            case params.Screenshot():
                with self.stages.measure("act"):
                    taken = await page.screenshot()
                return Answer(text=f"Took a screenshot ({len(taken)} bytes).", screenshot=taken)
            case params.Dialog():
                return await self._answer_dialog(given)
            case params.Wait():
                self._refuse_dialog()
                with self.stages.measure("wait"):
                    await asyncio.sleep(given.ms / 1000)
                return Answer(text=f"Waited {given.ms} ms.{self._told()}")
            case params.Open():
                with self.stages.measure("navigate"):
                    await page.navigate(given.url)
                return await self._done(f"Opened {json_string(given.url[:200])}.")
            case _:
                with self.stages.measure("act"):
                    said = await self._act(given)
                return await self._done(said)

    async def _observe(self) -> Answer:
        formatter = get(self.formatter)
        body: Body = "text" if formatter.needs == "text" else "ax"
        start = time.perf_counter()
        try:
            observation = await self.tab.observe(body)
        except ObservationError:
            self.stages.add(body, (time.perf_counter() - start) * 1000)
            raise
        self.stages.add("dom", observation.cost.dom_ms)
        self.stages.add(body, observation.cost.total_ms - observation.cost.dom_ms)
        with self.stages.measure("format"):
            rendering = render(observation, self.formatter)
        return Answer(text=rendering.text, observation=observation, rendering=rendering)

    async def _act(self, given: object) -> str:
        page = self.tab.page
        match given:
            case params.Click():
                await page.click(await self.tab.target(given.ref))
                return "Clicked."
            case params.Type():
                now = await page.type(await self.tab.target(given.ref), given.text)
                if now is None or now == given.text[:MAX_VALUE_CHARS]:
                    return "Typed."
                return f"Typed. The field now holds {json_string(now)}."
            case params.SelectOption():
                labels = (given.option,) if isinstance(given.option, str) else tuple(given.option)
                await page.select_option(await self.tab.target(given.ref), labels)
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
                path = _regular_file(given.path)
                await page.upload(None if given.ref is None else await self.tab.target(given.ref), path)
                return f"Uploaded {json_string(path.name)}."
            case _:
                raise BadCall("this tool does nothing.")

    async def _answer_dialog(self, given: params.Dialog) -> Answer:
        if self.tab.page.dialog is None:
            return Answer(text=f"{FAILED}no native dialog is open.", outcome="bad_call")
        with self.stages.measure("act"):
            await self.tab.page.answer_dialog(given.accept, given.text)
        return await self._done("Accepted the dialog." if given.accept else "Dismissed the dialog.")

    async def _done(self, said: str) -> Answer:
        """The action was carried out: let the page settle, and tell what dialogs it opened."""
        with self.stages.measure("settle"):
            await self.tab.page.settle()
        waits = "" if self.tab.page.dialog is None else " Answer it with the tool dialog."
        return Answer(text=said + self._told() + waits)

    def _refuse_dialog(self) -> None:
        if (dialog := self.tab.page.dialog) is not None:
            raise DialogOpen(f"A native {dialog.kind} dialog is open; answer it with the tool dialog.")

    def _told(self) -> str:
        """The dialogs that the page opened meanwhile: alerts are accepted, others wait."""
        page = self.tab.page
        alerts = page.take_alerts()
        told = [
            f" The page showed the alert {_quote(alert)}, which was accepted." for alert in alerts[:MAX_ALERTS_TOLD]
        ]
        if (more := len(alerts) - MAX_ALERTS_TOLD) > 0:
            told.append(f" {more} more alerts were accepted.")
        if (dialog := page.dialog) is not None:
            told.append(f" The {dialog.kind} dialog that is open says {_quote(dialog)}.")
        return "".join(told)


def _validated(name: str, arguments: Mapping[str, JsonValue]) -> object:
    model = params.TOOLS.get(name)
    if model is None:
        raise BadCall(f"there is no tool {json_string(name[:40])}; there are {', '.join(params.TOOLS)}.")
    try:
        return model.model_validate(arguments)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])[:80]
        raise BadCall(f"{name}: {json_string(where)}: {first['msg'][:200]}.") from error


def _quote(dialog: OpenDialog) -> str:
    return json_string(dialog.message[:MAX_DIALOG_CHARS])


def _regular_file(given: str) -> Path:
    path = Path(given)
    try:
        found = path.lstat()
    except (OSError, ValueError) as error:
        raise BadCall("the file to upload does not exist.") from error
    if not stat.S_ISREG(found.st_mode):
        raise BadCall("only regular files are uploaded.")
    if found.st_size > MAX_UPLOAD_BYTES:
        raise BadCall(f"the file has {found.st_size} bytes; at most {MAX_UPLOAD_BYTES} are uploaded.")
    return path
