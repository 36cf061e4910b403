"""Every page of tests/cases/pages, on a real Chromium with each real driver: what is observed, how actions end."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from formatters.refs import ref_line
from formatters.render import render
from harness.host.tab import Tab
from observe.capture import capture
from observe.errors import DocumentReplaced, Refusal
from observe.model import ActionRef, Observation, Reads, Stamp
from observe.model import DomObservation as Dom
from observe.page import Filled

if TYPE_CHECKING:
    from tests.harness.drivers.conftest import Opened

pytestmark = pytest.mark.browser

PAGES = Path(__file__).parents[2] / "cases" / "pages"
CASES = {path.name.removesuffix(".expect.json"): json.loads(path.read_text()) for path in PAGES.glob("*.expect.json")}
ACTIONS = [(name, number) for name, case in sorted(CASES.items()) for number in range(len(case.get("actions", ())))]

Case = Mapping[str, Any]


class Between:
    """A page in which something happens between its two reads."""

    def __init__(self, opened: "Opened", script: str) -> None:
        self._opened, self._script = opened, script
        page = opened.page
        self.document_nonce, self.read_ax, self.read_text = page.document_nonce, page.read_ax, page.read_text
        self.read_elements, self.read_chosen = page.read_elements, page.read_chosen
        self.read_ids = page.read_ids

    async def read_dom(self, stamp: Stamp, *, counted: bool = True, before: int = 0) -> Dom:
        await self._opened.mutate(self._script)
        return await self._opened.page.read_dom(stamp)

    async def read_together(self, stamp: Stamp, filled: Filled) -> Reads | None:
        return None


def fields(ref: ActionRef) -> dict[str, Any]:
    state = {key.replace("_", "-"): getattr(ref.state, key) for key in type(ref.state).__slots__}
    shown = {key: value for key, value in state.items() if value is not None}
    return {"role": ref.role, "name": ref.name, **shown}


def matches(wanted: Case, ref: ActionRef) -> bool:
    have = fields(ref)
    named = {key: value for key, value in wanted.items() if key not in ("absent", "nth")}
    return all(have.get(key) == value for key, value in named.items()) and not have.keys() & set(
        wanted.get("absent", ())
    )


def in_order(wanted: list[str], lines: list[str]) -> bool:
    remaining = iter(lines)
    return all(line in remaining for line in wanted)


def check_refs(expected: Case, seen: Observation) -> None:
    if "count_shown" in expected:
        assert len(seen.refs) == expected["count_shown"]
    if "count_total" in expected:
        assert seen.refs_total == expected["count_total"], [fields(ref) for ref in seen.refs]
    for wanted in expected.get("must", ()):
        assert any(matches(wanted, ref) for ref in seen.refs), (wanted, [fields(ref) for ref in seen.refs])
    for unwanted in expected.get("must_not", ()):
        assert not [ref for ref in seen.refs if matches(unwanted, ref)], unwanted
    lines = [ref_line(ref).partition(" ")[2] for ref in seen.refs]
    assert in_order(expected.get("lines_must", []), lines), lines


@pytest.mark.parametrize("name", sorted(CASES))
async def test_observation(name: str, opened: "Opened", case_pages: str) -> None:
    case = CASES[name]
    await opened.load(case_pages, name)
    readable = Between(opened, case["between_reads"]) if "between_reads" in case else opened.page
    if case.get("observe", "ok") == "document_replaced":
        with pytest.raises(DocumentReplaced):
            await capture(readable, "ax")
        return
    seen = await capture(readable, "ax")
    rendering = render(seen, "conservative").text
    check_refs(case.get("refs", {}), seen)
    body = rendering.partition(f"AX text <<{seen.stamp.tag}\n")[2]
    for part in case.get("ax_text_must", ()):
        assert part in body
    for part in case.get("ax_text_must_not", ()):
        assert part not in body
    for part in case.get("rendering_must", ()):
        assert part in rendering
    for part in case.get("rendering_must_not", ()):
        assert part not in rendering


async def act(tab: Tab, action: Case, ref: str) -> str:
    """Carry out one action of a case; how it ended."""
    try:
        target = await tab.target(ref)
        match action["do"]:
            case "click":
                await tab.page.click(target)
            case "type":
                await tab.page.type(target, action["text"])
            case "select":
                await tab.page.select_option(target, (action["text"],))
            case unknown:
                raise AssertionError(unknown)
        await tab.page.settle()
    except Refusal as refusal:
        return refusal.kind
    return "ok"


async def play(tab: Tab, opened: "Opened", action: Case, seen: Observation) -> None:
    found = [ref for ref in seen.refs if matches(action["on"], ref)]
    if "mutate_before" in action:
        await opened.mutate(action["mutate_before"])
    if action.get("observe_again_before"):
        await tab.observe("ax")
    ended = await act(tab, action, found[action.get("nth", 0)].ref)
    if (expected := action.get("expect")) == "refused":
        assert ended != "ok"
    elif expected is not None:
        assert ended == expected
    if "after_js" in action:
        await asyncio.sleep(0.1)
        assert await opened.evaluate(action["after_js"]) == action["after_value"]
    for following in action.get("then", ()):
        await play(tab, opened, following, seen)


@pytest.mark.parametrize(("name", "number"), ACTIONS)
async def test_action(name: str, number: int, opened: "Opened", case_pages: str) -> None:
    await opened.load(case_pages, name)
    tab = Tab(opened.page)
    await play(tab, opened, CASES[name]["actions"][number], await tab.observe("ax"))


def test_all_cases_are_here() -> None:
    assert len(CASES) == len(list(PAGES.glob("*.html"))) == 52
