"""What a bot is told: our own sentences, page text in them quoted and bounded, whatever the call or the page does."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from harness.drivers.fake import FakeHost
from harness.drivers.fake_document import FakeDocument, FakeElement
from harness.drivers.fake_page import FakePage
from harness.targets.base import Endpoint
from harness.tools.answer import Answer
from harness.tools.session import BotSession
from observe.errors import MalformedRead

URL = "http://fake.test/"
NOWHERE = Endpoint(browser_ws="", http="", profile=Path(), browser_version="", os="", architecture="", pid=0)
HOSTILE = 'Refused: "\n\u202e\x1b[2J' + "x" * 300
QUOTED = '"Refused: \\"\\n\\u202e\\u001b[2J' + "x" * 240 + '"'
"""HOSTILE as a JSON string of its first 256 characters."""


def asked(document: FakeDocument) -> None:
    def answered(page: FakeDocument, accepted: bool, text: str) -> None:
        page.facts["answer"] = f"{accepted} {text}"

    document.prompt(HOSTILE, answered)


def document() -> FakeDocument:
    return FakeDocument(
        title="Page",
        height=1_000,
        elements=[
            FakeElement(kind="button", name="Alert", on_click=lambda page: page.alert(HOSTILE)),
            FakeElement(kind="button", name="Ask", on_click=asked),
            FakeElement(kind="field", name="Note"),
            FakeElement(kind="field", name="Upper", on_change=lambda page: shout(page.find("Upper"))),
            FakeElement(kind="select", name="City", options=("Oslo", "Rome")),
            FakeElement(kind="file", name="Receipt"),
        ],
    )


def shout(element: FakeElement) -> None:
    element.value = element.value.upper()


@pytest.fixture
async def page() -> AsyncIterator[FakePage]:
    async with FakeHost({URL: document}).attach(NOWHERE) as driver:
        opened = await driver.first_page()
        await opened.navigate(URL)
        await opened.settle()
        yield opened


BotOn = Callable[..., Awaitable[BotSession]]


@pytest.fixture
async def tools(page: FakePage, bot_on: BotOn, tmp_path: Path) -> BotSession:
    return await bot_on(page, uploads=tmp_path)


async def refs(tools: BotSession) -> dict[str, str]:
    """The refs of a new observation by their names."""
    answer = await tools.call("observe", {})
    assert answer.observation is not None
    return {shown.name: shown.ref for shown in answer.observation.refs}


async def ref(tools: BotSession, name: str) -> str:
    """The ref of that name in a new observation."""
    return (await refs(tools))[name]


async def test_an_alert_is_told_quoted_and_bounded(tools: BotSession) -> None:
    answer = await tools.call("click", {"ref": await ref(tools, "Alert")})
    assert answer == Answer(text=f"Clicked. The page showed the alert {QUOTED}, which was accepted.")
    assert await tools.call("wait", {"ms": 0}) == Answer(text="Waited 0 ms.")


async def test_a_dialog_is_told_refuses_and_is_answered(tools: BotSession, page: FakePage) -> None:
    told = f" The prompt dialog that is open says {QUOTED}."
    answer = await tools.call("click", {"ref": await ref(tools, "Ask")})
    assert answer == Answer(text=f"Clicked.{told} Answer it with the tool dialog.")

    for name, arguments in (("observe", {}), ("press_key", {"key": "a"}), ("open", {"url": URL}), ("wait", {"ms": 0})):
        refused = await tools.call(name, arguments)
        said = "Refused: A native prompt dialog is open; answer it with the tool dialog."
        assert (refused.text, refused.outcome, refused.fault) == (said + told, "dialog_open", False)

    assert await tools.call("dialog", {"accept": True, "text": "yes"}) == Answer(text="Accepted the dialog.")
    assert page.document.facts == {"answer": "True yes"}
    assert await tools.call("dialog", {"accept": True}) == Answer(
        text="Failed: no native dialog is open.", outcome="bad_call"
    )


async def test_a_dialog_can_be_dismissed(tools: BotSession, page: FakePage) -> None:
    await tools.call("click", {"ref": await ref(tools, "Ask")})
    assert await tools.call("dialog", {"accept": False}) == Answer(text="Dismissed the dialog.")
    assert page.document.facts == {"answer": "False "}


async def test_every_action_says_what_it_did(tools: BotSession, page: FakePage, tmp_path: Path) -> None:
    (tmp_path / "a\nb.txt").write_text("paid")
    named = await refs(tools)
    calls: list[tuple[str, dict[str, Any], str]] = [
        ("type", {"ref": named["Note"], "text": "a"}, "Typed."),
        ("type", {"ref": named["Upper"], "text": "a\u2028"}, 'Typed. The field now holds "A\\u2028".'),
        ("select_option", {"ref": named["City"], "option": "Rome"}, "Selected."),
        ("press_key", {"key": "Enter"}, "Pressed."),
        ("scroll", {"direction": "down"}, "Scrolled 280 px down."),
        ("scroll", {"direction": "up", "amount": 100}, "Scrolled 100 px up."),
        ("upload", {"path": str(tmp_path / "a\nb.txt")}, 'Uploaded "a\\nb.txt".'),
        ("open", {"url": URL}, 'Opened "http://fake.test/".'),
    ]
    assert [(await tools.call(name, arguments)).text for name, arguments, _ in calls] == [said for *_, said in calls]


async def test_a_screenshot_is_handed_over_and_only_its_size_told(tools: BotSession) -> None:
    answer = await tools.call("screenshot", {})
    assert answer.screenshot is not None
    assert (answer.text, answer.outcome) == (f"Took a screenshot ({len(answer.screenshot)} bytes).", "ok")


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        (
            "\x1b" * 99,
            {},
            'there is no tool "'
            + "\\u001b" * 40
            + '"; there are open, observe, screenshot, click, type, select_option, '
            "press_key, scroll, upload, tabs, wait, takeover, dialog.",
        ),
        ("type", {"text": "a"}, 'type: "ref": Field required.'),
        ("click", {"ref": "e", "\n" * 99: 1}, 'click: "' + "\\n" * 80 + '": Extra inputs are not permitted.'),
        ("wait", {"ms": "x" * 9_000}, 'wait: "ms": Input should be a valid integer.'),
        ("press_key", {"key": "Ctrl+\u202e"}, 'there is no key "Ctrl+\\u202e".'),
        ("click", {"x": 1, "y": 2, "ref": "e"}, "click: give either ref, or x and y."),
        ("click", {"x": 1}, "click: give either ref, or x and y."),
        ("click", {}, "click: give either ref, or x and y."),
        (
            "tabs",
            {"action": "list", "target_id": "A"},
            "tabs: select and close take target_id, and no other action does.",
        ),
        ("tabs", {"action": "close"}, "tabs: select and close take target_id, and no other action does."),
        ("takeover", {"action": "request"}, "there is no person who could take over."),
    ],
)
async def test_a_bad_call_is_answered(tools: BotSession, name: str, arguments: dict[str, Any], said: str) -> None:
    assert await tools.call(name, arguments) == Answer(text=f"Failed: {said}", outcome="bad_call")


async def test_only_bounded_regular_files_of_one_folder_are_uploaded(
    page: FakePage, bot_on: BotOn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.tools.files.MAX_UPLOAD_BYTES", 3)
    folder = tmp_path / "uploads"
    (folder / "deep").mkdir(parents=True)
    for name, text in (("deep/small", "abc"), ("large", "paid"), ("../outside", "a")):
        (folder / name).write_text(text)
    for name, to in (("inner", "deep/small"), ("out", "../outside"), ("around", "deep/.."), ("loop", "loop")):
        (folder / name).symlink_to(to)
    tools = await bot_on(page, uploads=folder)
    absent = outside = "there is no such file in the folder for uploads."
    said = {
        "deep/small": 'Uploaded "small".',
        "inner": 'Uploaded "small".',
        str(folder / "deep" / "small"): 'Uploaded "small".',
        "large": "Failed: the file has 4 bytes; at most 3 are uploaded.",
        "out": f"Failed: {outside}",
        "../outside": f"Failed: {outside}",
        str(tmp_path / "outside"): f"Failed: {outside}",
        "around/../outside": f"Failed: {outside}",
        "deep": "Failed: only regular files are uploaded.",
        "loop": f"Failed: {absent}",
        "none": f"Failed: {absent}",
        "a\0b": f"Failed: {absent}",
    }
    assert {path: (await tools.call("upload", {"path": path})).text for path in said} == said

    nowhere = await bot_on(page)
    answer = await nowhere.call("upload", {"path": "deep/small"})
    assert answer.text == "Failed: there is no folder from which files may be uploaded."


async def test_refusals_are_outcomes_of_their_own(tools: BotSession, page: FakePage) -> None:
    first = await ref(tools, "Alert")
    second = await ref(tools, "Alert")
    stale = await tools.call("click", {"ref": first})
    page.document.find("Alert").covered_by = "dialog"
    covered = await tools.call("click", {"ref": second})
    page.document.find("Alert").name = HOSTILE
    changed = await tools.call("click", {"ref": second})
    page.run(lambda now: now.reload())
    replaced = await tools.call("click", {"ref": second})
    answers = [stale, covered, changed, replaced]
    assert [(answer.outcome, answer.refused, answer.fault) for answer in answers] == [
        (kind, True, False) for kind in ("stale_ref", "covered", "changed_element", "document_replaced")
    ]
    assert [answer.text.startswith("Refused: ") and "\n" not in answer.text for answer in answers] == [True] * 4


async def test_a_tab_that_is_gone_is_a_refusal_and_no_fault_of_the_driver(tools: BotSession, page: FakePage) -> None:
    page.closed = True
    answer = await tools.call("observe", {})
    assert (answer.outcome, answer.refused, answer.fault, answer.rendering) == ("page_gone", True, False, None)


async def test_a_browser_that_is_gone_is_a_fault(tools: BotSession, page: FakePage) -> None:
    page.end()
    answer = await tools.call("observe", {})
    assert (answer.outcome, answer.refused, answer.fault, answer.rendering) == ("driver_gone", True, True, None)


async def test_an_answer_of_an_unknown_form_is_the_drivers_fault(
    tools: BotSession, page: FakePage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def malformed(_stamp: object, *, counted: bool, before: int) -> None:
        raise MalformedRead(HOSTILE)

    monkeypatch.setattr(page, "read_dom", malformed)
    answer = await tools.call("observe", {})
    text = "Failed: the driver gave an answer of an unknown form."
    assert answer == Answer(text=text, outcome="malformed_read", fault=True)


@pytest.mark.parametrize(("formatter", "read"), [("structured", "ax"), ("verbatim", "ax"), ("page-text", "text")])
async def test_an_observation_counts_the_read_that_was_made(
    page: FakePage, bot_on: BotOn, formatter: str, read: str
) -> None:
    tools = await bot_on(page, formatter)
    answer = await tools.call("observe", {})
    assert answer.rendering is not None
    assert (answer.text, set(tools.times.stages.ms)) == (answer.rendering.text, {"dom", read, "format"})


@pytest.mark.parametrize(
    ("name", "arguments", "where"),
    [
        ("type", {"ref": "e", "text": "a\ud800"}, '"text": '),
        ("press_key", {"key": "\udfff"}, '"key": '),
        ("select_option", {"ref": "e", "option": "\ud800"}, '"option.constrained-str": '),
        ("select_option", {"ref": "e", "option": ["a", "\ud800"]}, '"option.list[constrained-str].1": '),
        ("dialog", {"accept": True, "text": "\ud800"}, '"text": '),
        ("open", {"url": "http://a.test/\ud800"}, '"url": '),
        ("upload", {"path": "\ud800"}, '"path": '),
        ("click", {"ref": "\ud800"}, '"ref": '),
        ("tabs", {"action": "close", "target_id": "\ud800"}, '"target_id": '),
        ("type", {"ref": "e", "text": "a", "\ud800": 1}, ""),
    ],
)
async def test_half_of_a_surrogate_pair(name: str, arguments: dict[str, Any], where: str, tools: BotSession) -> None:
    said = f"Failed: {name}: {where}half of a surrogate pair is no text."
    assert await tools.call(name, arguments) == Answer(text=said, outcome="bad_call")
