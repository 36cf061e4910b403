"""The eight verification tools (ADR-0031), over the pages of owners. They raise what keeps them from doing it.

An answer is a text for a model and details that hold nothing more than the text does. Both together are bounded in
bytes, so that they fit into one frame to a child; what was left out is marked.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import orjson
from pydantic import JsonValue, ValidationError

from formatters.escape import one_line
from harness.errors import OperationFailed, OwnerPageGone, quoted
from harness.host.pages import Entry, OwnerPage, OwnerPages
from harness.tools.modes import Allowed
from harness.tools.verify_params import (
    TOOLS,
    Click,
    Close,
    Console,
    Eval,
    Fill,
    Goto,
    Network,
    Parameters,
    Screenshot,
)
from observe.events import ConsoleEntry, NetworkEntry, Taken

E = TypeVar("E")

EMPTY = "(empty)"
BLANK = "this owner's page is blank: navigation is not allowed in this mode"

MAX_READ_BYTES = 160 * 1024
"""UTF-8 bytes of one read of console or network, text and details together, as JSON. A frame holds 256 KiB."""

MAX_PICTURES = 20
"""Screenshots kept for a page, the latest; each takes some 100 KB of the disk."""

_VERBOSE = (
    "authorization apikey content-type x-client-info accept-profile content-profile prefer location www-authenticate "
    "retry-after"
)
VERBOSE_HEADERS = frozenset(_VERBOSE.split())
"""The headers that `verbose` shows; the values of secret ones are redacted where they are kept."""


class BadParameters(OperationFailed):
    """There is no such tool, or its parameters are wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a tool answers."""

    text: str
    details: dict[str, JsonValue]


def checked(tool: str, params: object) -> Parameters:
    """The parameters of a call.

    Raises:
        BadParameters: the sentence names the first that is wrong.
    """
    if tool not in TOOLS:
        raise BadParameters(f"there is no tool {quoted(tool)}; there are {', '.join(TOOLS)}")
    try:
        return TOOLS[tool].model_validate(params)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BadParameters(f"the parameter {quoted(where)}: {first['msg'].removeprefix('Value error, ')}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyTools:
    """The tools over one registry of pages."""

    pages: OwnerPages

    def must_open(self, owner: str, params: Parameters, allowed: Allowed) -> bool:
        """Whether the call is one that opens the owner's page first."""
        if isinstance(params, Console | Network | Close) or self.pages.page(owner) is not None:
            return False
        return not (isinstance(params, Screenshot) and self._stays_blank(owner, allowed))

    async def run(self, owner: str, params: Parameters, allowed: Allowed) -> Told:
        """Carry out one call; `allowed` has let it pass.

        Raises:
            OwnerError, TabLimit, TargetError, DriverError, CleanupRequired: it was not carried out.
        """
        match params:
            case Console():
                return self._console(owner, params, allowed)
            case Network():
                return self._network(owner, params, allowed)
            case Close():
                closed = await self.pages.reap(owner)
                text = f"Closed the page of {owner}." if closed else f"{owner} had no page."
                return Told(text=text, details={"closed": closed, "owner": owner})
            case Screenshot():
                return await self._screenshot(owner, params, allowed)
            case _:
                _, page = await self._opened(owner)
                return await self._act(page, params)

    async def _act(self, page: OwnerPage, params: Parameters) -> Told:
        match params:
            case Goto():
                loaded = await page.goto(params.url, params.timeout)
                details: dict[str, JsonValue] = {"status": loaded.status, "finalUrl": loaded.final_url}
                return Told(text=_json(details), details=details)
            case Eval():
                value = await page.evaluate(params.expression, params.timeout)
                return Told(text=_json(value), details={"result": value})
            case Fill():
                await page.fill(params.selector, params.value, params.timeout)
                return Told(text=f"Filled {params.selector}.", details={"selector": params.selector})
            case Click():
                await page.click(params.selector, params.timeout)
                return Told(text=f"Clicked {params.selector}.", details={"selector": params.selector})
            case _:
                raise BadParameters("there is no such tool")

    async def _opened(self, owner: str) -> tuple[Entry, OwnerPage]:
        entry = await self.pages.open(owner)
        if (page := entry.page) is None:
            raise OwnerPageGone("the page was closed")
        return entry, page

    async def _screenshot(self, owner: str, params: Screenshot, allowed: Allowed) -> Told:
        if self._stays_blank(owner, allowed):
            raise OperationFailed(BLANK)
        entry, page = await self._opened(owner)
        path = entry.next_picture(MAX_PICTURES)
        await page.screenshot(path, params.timeout, full=params.full_page)
        return Told(text=str(path), details={"path": str(path)})

    def _console(self, owner: str, params: Console, allowed: Allowed) -> Told:
        page, wanted = self.pages.page(owner), params.filter
        taken: Taken[ConsoleEntry] = Taken()
        if page is not None:
            taken = page.log.take_console(clear=params.clear and allowed.clear)
        found = [one for one in taken.entries if wanted is None or wanted in one.text or wanted in one.location]
        shown = _newest(found, params.limit, lambda entry: (_console_line(entry), _console_details(entry)))
        return self._read(owner, allowed, shown, taken.dropped)

    def _network(self, owner: str, params: Network, allowed: Allowed) -> Told:
        page = self.pages.page(owner)
        taken: Taken[NetworkEntry] = Taken()
        if page is not None:
            taken = page.log.take_network(clear=params.clear and allowed.clear)
        names = (VERBOSE_HEADERS if params.verbose else frozenset()) | frozenset(params.include_headers)
        found = [
            one
            for one in taken.entries
            if (params.url_filter is None or params.url_filter in one.url)
            and (params.status is None or params.status == one.status)
        ]
        shown = _newest(found, params.limit, lambda entry: _network_told(entry, names))
        return self._read(owner, allowed, shown, taken.dropped)

    def _read(self, owner: str, allowed: Allowed, shown: "_Shown", dropped: int) -> Told:
        lines = list(shown.lines)
        if shown.left_out:
            lines.insert(0, f"[{shown.left_out} older entries left out: more than {MAX_READ_BYTES} bytes]")
        if dropped:
            lines.insert(0, f"[{dropped} older entries were dropped unread]")
        lines = lines or [EMPTY]
        details: dict[str, JsonValue] = {"entries": list(shown.details), "dropped": dropped}
        if self._stays_blank(owner, allowed):
            lines.append(f"{BLANK[0].upper()}{BLANK[1:]}.")
            details["note"] = BLANK
        return Told(text="\n".join(lines), details=details)

    def _stays_blank(self, owner: str, allowed: Allowed) -> bool:
        page = self.pages.page(owner)
        return "browser_goto" not in allowed.tools and (page is None or page.blank)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """The newest entries, oldest first; `left_out` is how many more were asked for and did not fit."""

    lines: tuple[str, ...]
    details: tuple[JsonValue, ...]
    left_out: int


def _newest(entries: Sequence[E], limit: int, tell: Callable[[E], tuple[str, JsonValue]]) -> _Shown:
    told: list[tuple[str, JsonValue]] = []
    left = MAX_READ_BYTES
    wanted = entries[-limit:]
    for entry in reversed(wanted):
        line, details = tell(entry)
        left -= len(orjson.dumps(line)) + len(orjson.dumps(details))
        if left < 0:
            break
        told.append((line, details))
    told.reverse()
    return _Shown(
        lines=tuple(line for line, _ in told),
        details=tuple(details for _, details in told),
        left_out=len(wanted) - len(told),
    )


def _console_line(entry: ConsoleEntry) -> str:
    where = f"  @ {one_line(entry.location)}" if entry.location else ""
    return f"[{entry.time}] {entry.kind}: {one_line(entry.text)}{where}"


def _console_details(entry: ConsoleEntry) -> JsonValue:
    return {"time": entry.time, "type": entry.kind, "text": one_line(entry.text), "location": one_line(entry.location)}


def _network_told(entry: NetworkEntry, names: frozenset[str]) -> tuple[str, JsonValue]:
    url, failure = one_line(entry.url), entry.failure
    state = "ERR" if failure is not None else "..." if entry.status is None else str(entry.status)
    why = f"  ({one_line(failure)})" if failure is not None else "" if entry.ended else "  (pending)"
    lines = [f"{state} {entry.method} {url}{why}"]
    details: dict[str, JsonValue] = {"method": entry.method, "url": url, "status": entry.status, "failure": failure}
    if names:
        sides = (("requestHeaders", ">", entry.request_headers), ("responseHeaders", "<", entry.response_headers))
        for key, mark, headers in sides:
            kept = {name: one_line(value) for name, value in headers.items() if name in names}
            lines += [f"  {mark} {name}: {value}" for name, value in kept.items()]
            details[key] = dict(kept)
    return "\n".join(lines), details


def _json(value: JsonValue) -> str:
    return orjson.dumps(value).decode()
