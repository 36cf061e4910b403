"""Fills a page's console and network buffers from DevTools events; bodies are never kept, and secrets never enter."""

import datetime
import json
import re
from collections.abc import Mapping
from urllib.parse import unquote_plus

from harness.drivers.cdp import CdpConnection, Json
from observe.events import MAX_ENTRIES, ConsoleEntry, NetworkEntry, Ring, Taken, bounded_text

MAX_HEADERS = 64
"""Headers of one message that are kept, and MAX_HEADER_CHARS code points of each: pages can send any number."""

MAX_HEADER_CHARS = 512

MAX_ARGUMENTS = 20
"""Arguments of one console call that are told."""

_SECRET_NAME = re.compile(
    r"auth(?:orization|entication)?$|cookie2?$|token|secret|passw|pwd|sess(?:ion|id)|signature|credential|jwt"
    r"|(?:api|access|auth|client|private|functions|subscription)[-_]?key|^sig$|(?:^|[-_.])sid$"
)
"""Names of headers and of query parameters whose values are never kept, whoever asks for them; sites name their secrets
as they like."""

_USER_PART = re.compile(r"^([a-z][a-z0-9+.-]*://)[^/?#]*@", re.ASCII | re.IGNORECASE)
_PARAMETER = re.compile(r"([?&#;])([^=?&#;]+)=([^&#;]*)")

REDACTED = "[redacted]"

_EVENTS = ("Runtime", "Log", "Network")


class PageLog:
    """The buffers of one page."""

    def __init__(self, cdp: CdpConnection) -> None:
        self._cdp = cdp
        self._console: Ring[ConsoleEntry] = Ring()
        self._network: Ring[NetworkEntry] = Ring()
        self._running: dict[str, NetworkEntry] = {}  # requests that have not ended, by Chrome's id
        cdp.on("Runtime.consoleAPICalled", self._on_console)
        cdp.on("Runtime.exceptionThrown", self._on_exception)
        cdp.on("Log.entryAdded", self._on_log)
        cdp.on("Network.requestWillBeSent", self._on_request)
        cdp.on("Network.responseReceived", self._on_response)
        cdp.on("Network.loadingFinished", self._on_finished)
        cdp.on("Network.loadingFailed", self._on_failed)

    async def start(self) -> None:
        """Have Chrome tell; raises as `CdpConnection.send`."""
        for domain in _EVENTS:
            await self._cdp.send(f"{domain}.enable")

    def take_console(self, *, clear: bool) -> Taken[ConsoleEntry]:
        """The console, oldest first."""
        return self._console.take(clear=clear)

    def take_network(self, *, clear: bool) -> Taken[NetworkEntry]:
        """The requests, in the order in which they began; those that have not ended stay, as their end is to come."""
        return self._network.take(clear=clear, stays=lambda entry: not entry.ended)

    def note(self, kind: str, text: str) -> None:
        """An entry of ours in the console."""
        self._add(kind, text, "", None)

    # ---- console ----

    def _add(self, kind: str, text: str, location: str, time_ms: float | None) -> None:
        at = datetime.datetime.now(datetime.UTC) if time_ms is None else _moment(time_ms)
        told = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        entry = ConsoleEntry(time=told, kind=kind, text=bounded_text(text), location=bounded_text(location))
        self._console.add(entry)

    def _on_console(self, params: Json, _session: str | None) -> None:
        arguments = params["args"]
        told = " ".join(_argument(argument) for argument in arguments[:MAX_ARGUMENTS])
        more = f" [cut: {MAX_ARGUMENTS} of {len(arguments)} arguments]" if len(arguments) > MAX_ARGUMENTS else ""
        frames = params.get("stackTrace", {}).get("callFrames", ())
        location = _location(frames[0]) if frames else ""
        self._add(params["type"], told + more, location, params["timestamp"])

    def _on_exception(self, params: Json, _session: str | None) -> None:
        details = params["exceptionDetails"]
        thrown = details.get("exception", {})
        said = str(thrown.get("description") or thrown.get("value", details.get("text", "")))
        self._add("pageerror", said.partition("\n")[0], _location(details), params["timestamp"])

    def _on_log(self, params: Json, _session: str | None) -> None:
        entry = params["entry"]
        location = _location({"url": entry.get("url", ""), "lineNumber": entry.get("lineNumber", 0)})
        self._add(entry["level"], entry["text"], location, entry["timestamp"])

    # ---- network ----

    def _on_request(self, params: Json, _session: str | None) -> None:
        number, request = params["requestId"], params["request"]
        if request["url"].startswith("data:"):
            return  # nothing is asked of anybody
        if (before := self._running.pop(number, None)) is not None and "redirectResponse" in params:
            _answered(before, params["redirectResponse"])
            before.ended = True
        entry = NetworkEntry(
            method=bounded_text(request["method"], 32),
            url=bounded_text(without_secrets(request["url"])),
            request_headers=_headers(request["headers"]),
        )
        self._network.add(entry)
        self._running[number] = entry
        if len(self._running) > MAX_ENTRIES:  # the oldest has left the buffer, too
            del self._running[next(iter(self._running))]

    def _on_response(self, params: Json, _session: str | None) -> None:
        if (entry := self._running.get(params["requestId"])) is not None:
            _answered(entry, params["response"])

    def _on_finished(self, params: Json, _session: str | None) -> None:
        if (entry := self._running.pop(params["requestId"], None)) is not None:
            entry.ended = True

    def _on_failed(self, params: Json, _session: str | None) -> None:
        if (entry := self._running.pop(params["requestId"], None)) is not None:
            entry.failure = bounded_text(params.get("blockedReason") or params["errorText"], 200)
            entry.status = None
            entry.ended = True


def _answered(entry: NetworkEntry, response: Json) -> None:
    entry.status = response["status"]
    entry.response_headers = _headers(response["headers"])


def _headers(given: Mapping[str, str]) -> dict[str, str]:
    kept = {}
    for name, value in list(given.items())[:MAX_HEADERS]:
        name = name.lower()
        told = REDACTED if _SECRET_NAME.search(name) else without_secrets(str(value))
        kept[bounded_text(name, 100)] = bounded_text(told, MAX_HEADER_CHARS)
    return kept


def without_secrets(url: str) -> str:
    """The address without the name and the password before its host, and without secret values behind its path."""
    return _PARAMETER.sub(_parameter, _USER_PART.sub(r"\1", url))


def _parameter(found: re.Match[str]) -> str:
    mark, name, _value = found.groups()
    return f"{mark}{name}={REDACTED}" if _SECRET_NAME.search(unquote_plus(name).lower()) else found[0]


def _argument(argument: Json) -> str:
    if "value" in argument:
        value = argument["value"]
        return value if isinstance(value, str) else json.dumps(value)
    if (preview := argument.get("preview")) is not None and argument.get("subtype") != "error":
        return _preview(preview)
    said = argument.get("unserializableValue") or argument.get("description") or argument["type"]
    return str(said).partition("\n")[0]


def _preview(preview: Json) -> str:
    parts = [str(one.get("value", "")) for one in preview["properties"]]
    if preview.get("subtype") == "array":
        return f"[{', '.join(parts)}{', ...' if preview['overflow'] else ''}]"
    named = [f"{one['name']}: {part}" for one, part in zip(preview["properties"], parts, strict=True)]
    return f"{{{', '.join(named)}{', ...' if preview['overflow'] else ''}}}"


def _location(place: Json) -> str:
    return f"{without_secrets(place['url'])}:{place['lineNumber'] + 1}" if place.get("url") else ""


def _moment(time_ms: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(time_ms / 1000, datetime.UTC)
