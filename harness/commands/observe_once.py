"""One observation of one page, from nothing to a rendering: what `axtrial observe` and `axtrial find` do."""

import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from formatters.catalog import get
from formatters.found import render_found
from formatters.render import Reading, Rendering, render
from formatters.search import Search, element_matches
from formatters.tokens import estimate
from harness.config import Settings
from harness.drivers.catalog import start_driver
from harness.errors import PageNotObserved, UsageError, quoted
from harness.targets.catalog import find_target
from harness.trial.spec import Arm, check_paged
from observe.capture import capture
from observe.errors import Refusal
from observe.model import ActionRef, Observation, Part

if TYPE_CHECKING:
    from tiktoken import Encoding

SCHEMES = frozenset({"http", "https", "file"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """An observation, how it is shown, and what that took, in milliseconds. `paged`: a page of it was asked for."""

    observation: Observation
    rendering: Rendering
    format_ms: float
    paged: bool = False


def page_address(page: str) -> str:
    """PAGE of the command line as an address: a URL as it is, a file as a file URL.

    Raises:
        UsageError: it is neither an http(s) or file URL nor an existing file.
    """
    if urlsplit(page).scheme in SCHEMES and "://" in page:
        return page
    try:
        path = Path(page)
        if path.is_file():
            return path.resolve().as_uri()
    except OSError as error:  # too long for a path, for one
        raise UsageError(f"the page {quoted(page)} cannot be read: {error.strerror}") from error
    raise UsageError(f"the page {quoted(page)} is neither an address (http://, https://, file://) nor an existing file")


async def observe_once(address: str, arm: Arm, settings: Settings, page: int | None = None) -> Observed:
    """Load `address` in a fresh browser, let it settle, observe it. `page`: from 1, how far on; None: its start, and
    nothing is said of further pages.

    Raises:
        TargetError, DriverError: the browser did not start or cannot be spoken to.
        PageNotObserved: the page could not be loaded within the driver's bound, or not be observed.
        NoSuchPage: the document ends before `page`.
        SpecError: the formatter has no pages.
    """
    if page is not None:
        check_paged(arm.formatter)
    joined = get(arm.formatter).joined
    observation = await _observed(address, arm, settings, Part(page=page or 1, joined=joined))
    reading = None if page is None else Reading()
    observed = _rendered(observation, lambda: render(observation, arm.formatter, reading))
    return replace(observed, paged=page is not None)


async def find_once(address: str, arm: Arm, settings: Settings, search: Search) -> Observed:
    """Load `address` in a fresh browser, let it settle, search all of it.

    Raises:
        TargetError, DriverError, PageNotObserved, SpecError: as observe_once.
    """
    check_paged(arm.formatter)
    part = Part(matches=lambda element: element_matches(search, element))
    observation = await _observed(address, arm, settings, part)
    return _rendered(observation, lambda: render_found(observation, arm.formatter, search))


async def _observed(address: str, arm: Arm, settings: Settings, part: Part) -> Observation:
    formatter = get(arm.formatter)
    filled = formatter.filled if arm.ax == "bounded" else None
    async with AsyncExitStack() as stack:
        host = await stack.enter_async_context(start_driver(arm.driver, settings))
        endpoint = await stack.enter_async_context(find_target(arm.target)(settings))
        attached = await stack.enter_async_context(host.attach(endpoint))
        page = await attached.first_page()
        try:
            await page.navigate(address)
            await page.settle()
            return await capture(page, "text" if formatter.needs == "text" else "ax", filled=filled, part=part)
        except Refusal as refusal:
            raise PageNotObserved(f"the page {quoted(address)} was not observed: {refusal.message}") from refusal


def _rendered(observation: Observation, make: Callable[[], Rendering]) -> Observed:
    start = time.perf_counter()
    rendering = make()
    return Observed(observation=observation, rendering=rendering, format_ms=(time.perf_counter() - start) * 1000)


def observed_json(observed: Observed, arm: Arm, encoding: "Encoding | None") -> dict[str, object]:
    """The JSON of `axtrial observe` (docs/cli.md)."""
    observation, rendering = observed.observation, observed.rendering
    read = {
        "verbatim": rendering.verbatim,
        "truncated": rendering.truncated,
        "chars_total": rendering.chars_total,
        "lines_total": rendering.lines_total,
    }
    ax, cost = observation.ax, observation.cost
    return {
        **({"page": observation.page, "refs_before": observation.refs_before} if observed.paged else {}),
        "url": observation.url,
        "title": observation.title,
        "driver": arm.driver,
        "target": arm.target,
        "formatter": rendering.formatter,
        "tag": observation.stamp.tag,
        "refs": [ref_json(ref) for ref in observation.refs],
        "refs_shown": len(observation.refs),
        "refs_total": observation.refs_total,
        "ax": None if ax is None else {"source": ax.source, **read},
        "page_text": read if ax is None else None,
        "rendering": rendering.text,
        "measures": {
            "chars": rendering.chars,
            "utf8_bytes": rendering.utf8_bytes,
            "estimated_tokens": None if encoding is None else estimate(rendering.text, encoding),
            "encoding": None if encoding is None else encoding.name,
            "ax_ms": cost.ax_ms,
            "text_ms": cost.text_ms,
            "dom_ms": cost.dom_ms,
            "format_ms": observed.format_ms,
            "total_ms": cost.total_ms + observed.format_ms,
        },
    }


def ref_json(ref: ActionRef) -> dict[str, object]:
    """A ref with the fields that apply, named as in docs/observation.md, section 3."""
    state = {name.replace("_", "-"): getattr(ref.state, name) for name in type(ref.state).__slots__}
    known = {name: value for name, value in state.items() if value is not None}
    return {"ref": ref.ref, "role": ref.role, "name": ref.name, **known}
