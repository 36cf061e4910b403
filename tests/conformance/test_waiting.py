"""Native dialogs, and tabs that are gone: what every driver refuses as a whole."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from harness.drivers.base import Dialog, DriverPage, RefTarget
from observe.capture import new_stamp
from observe.errors import DialogOpen, PageGone, Refusal

if TYPE_CHECKING:
    from tests.conformance.conftest import Stage

CONFIRM_OPEN = "A native confirm dialog is open; answer it with the tool dialog."

Call = Callable[[DriverPage, RefTarget], Awaitable[Any]]

CALLS: dict[str, Call] = {
    "document_nonce": lambda page, _: page.document_nonce(),
    "read_ax": lambda page, _: page.read_ax(),
    "read_text": lambda page, _: page.read_text(),
    "read_dom": lambda page, _: page.read_dom(new_stamp()),
    "read_elements": lambda page, _: page.read_elements(),
    "read_chosen": lambda page, _: page.read_chosen(new_stamp(), ()),
    "read_ids": lambda page, target: page.read_ids(target.stamp),
    "click": lambda page, target: page.click(target),
    "type": lambda page, target: page.type(target, "text"),
    "select_option": lambda page, target: page.select_option(target, ("Small",)),
    "upload": lambda page, target: page.upload(target, Path(__file__)),
    "upload without ref": lambda page, _: page.upload(None, Path(__file__)),
    "scroll": lambda page, _: page.scroll(10),
    "screenshot": lambda page, _: page.screenshot(),
}
INPUT: dict[str, Call] = {
    "navigate": lambda page, _: page.navigate("about:blank"),
    "press_key": lambda page, _: page.press_key("a"),
}
"""What asks the page nothing before it sends its input."""


async def refusals(
    calls: dict[str, Call], page: DriverPage, target: RefTarget
) -> dict[str, tuple[type[Refusal], str] | None]:
    """How each read and action ends; None: it was carried out."""
    ended: dict[str, tuple[type[Refusal], str] | None] = {}
    for name, call in calls.items():
        try:
            await call(page, target)
            ended[name] = None
        except Refusal as refusal:
            ended[name] = type(refusal), refusal.message
    return ended


async def test_an_alert_is_accepted_and_told(stage: "Stage") -> None:
    seen = await stage.observe("dialogs")
    await stage.click(stage.named(seen, "Warn"))
    await stage.click(stage.named(seen, "Warn"))
    assert await stage.read("warned") == "yes"
    assert (stage.page.dialog, stage.page.take_alerts()) == (None, (Dialog(kind="alert", message="Careful"),) * 2)
    assert stage.page.take_alerts() == ()


async def test_everything_is_refused_while_a_dialog_is_open(stage: "Stage") -> None:
    seen = await stage.observe("dialogs")
    target = await stage.tab.target(stage.named(seen, "Note").ref)
    await stage.click(stage.named(seen, "Ask"))
    assert stage.page.dialog == Dialog(kind="confirm", message="Sure?")
    assert await refusals(CALLS, stage.page, target) == dict.fromkeys(CALLS, (DialogOpen, CONFIRM_OPEN))
    with pytest.raises(DialogOpen):
        await stage.tab.observe("ax")
    with pytest.raises(DialogOpen):
        await stage.tab.target("nonsense")
    await stage.page.answer_dialog(False, None)


async def test_input_is_refused_while_a_dialog_is_open(stage: "Stage") -> None:
    seen = await stage.observe("dialogs")
    target = await stage.tab.target(stage.named(seen, "Note").ref)
    await stage.click(stage.named(seen, "Ask"))
    assert await refusals(INPUT, stage.page, target) == dict.fromkeys(INPUT, (DialogOpen, CONFIRM_OPEN))
    await stage.page.answer_dialog(False, None)
    assert await stage.read("sure") == "false"


@pytest.mark.parametrize(("accept", "told"), [(True, "true"), (False, "false")])
async def test_a_confirm_dialog_is_answered(stage: "Stage", accept: bool, told: str) -> None:
    seen = await stage.observe("dialogs")
    await stage.click(stage.named(seen, "Ask"))
    await stage.page.answer_dialog(accept, None)
    await stage.page.settle()
    assert (stage.page.dialog, await stage.read("sure")) == (None, told)
    assert await stage.type(stage.named(seen, "Note"), "on we go") == "on we go"


@pytest.mark.parametrize(("accept", "text", "told"), [(True, "Ann", "Ann"), (True, None, ""), (False, "Ann", "null")])
async def test_a_prompt_dialog_is_answered(stage: "Stage", accept: bool, text: str | None, told: str) -> None:
    seen = await stage.observe("dialogs")
    await stage.click(stage.named(seen, "Name"))
    assert stage.page.dialog == Dialog(kind="prompt", message="Name?")
    await stage.page.answer_dialog(accept, text)
    await stage.page.settle()
    assert await stage.read("name") == told
    await stage.tab.observe("ax")


async def test_an_answer_without_a_dialog_does_nothing(stage: "Stage") -> None:
    seen = await stage.observe("dialogs")
    await stage.page.answer_dialog(True, "Ann")
    await stage.click(stage.named(seen, "Warn"))
    assert await stage.read("warned") == "yes"


async def test_a_closed_tab(stage: "Stage") -> None:
    seen = await stage.observe("dialogs")
    target = await stage.tab.target(stage.named(seen, "Note").ref)
    await stage.page.close()
    assert await refusals({**CALLS, **INPUT}, stage.page, target) == dict.fromkeys(
        {**CALLS, **INPUT}, (PageGone, "The tab was closed.")
    )
    with pytest.raises(PageGone):
        await stage.page.settle()


async def test_a_tab_that_is_closed_before_its_first_read(stage: "Stage") -> None:
    await stage.page.close()
    target = RefTarget(stamp=new_stamp(), n=1)
    assert await refusals({**CALLS, **INPUT}, stage.page, target) == dict.fromkeys(
        {**CALLS, **INPUT}, (PageGone, "The tab was closed.")
    )
