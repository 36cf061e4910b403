"""Reading on and finding, as a bot calls them: nothing on a long document is out of its reach."""

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

URL = "http://fake.test/"
NOWHERE = Endpoint(browser_ws="", http="", profile=Path(), browser_version="", os="", architecture="", pid=0)
BotOn = Callable[..., Awaitable[BotSession]]


def pay(number: int) -> Callable[[FakeDocument], None]:
    def note(document: FakeDocument) -> None:
        document.facts["paid"] = str(number)

    return note


def document() -> FakeDocument:
    """600 rows, each with a text of some 40 characters and a button."""
    rows = []
    for number in range(1, 601):
        row = f"Order {number}"
        rows.append(FakeElement(kind="text", name=f"{row}, to be paid", row=row))
        rows.append(FakeElement(kind="button", name="Pay", row=row, on_click=pay(number)))
    return FakeDocument(title="Orders", elements=rows)


@pytest.fixture
async def page() -> AsyncIterator[FakePage]:
    async with FakeHost({URL: document}).attach(NOWHERE) as driver:
        opened = await driver.first_page()
        await opened.navigate(URL)
        await opened.settle()
        yield opened


@pytest.fixture
async def bot(page: FakePage, bot_on: BotOn) -> BotSession:
    return await bot_on(page, paging=True)


def body(answer: Answer) -> list[str]:
    """The lines of the AX text, without the mark of a cut."""
    text = answer.text.partition("\nAX text <<")[2].partition("\n")[2]
    return [line for line in text.split("\n") if line.startswith("- ")]


async def test_pages_are_read_to_the_end(bot: BotSession) -> None:
    answers = [await bot.call("observe", {} if number == 1 else {"page": number}) for number in (1, 2, 3, 4)]
    lines = [
        line for number in range(1, 601) for line in (f'- StaticText "Order {number}, to be paid"', '- button "Pay"')
    ]
    assert [line for answer in answers[:3] for line in body(answer)] == lines
    headers = [line for answer in answers for line in answer.text.split("\n") if line.startswith("Action refs")]
    assert headers == [
        "Action refs (250 of 600):",
        "Action refs (251 to 500 of 600):",
        "Action refs (501 to 600 of 600):",
    ]
    ends = [answer.text.rpartition("\n")[2] for answer in answers[:3]]
    assert answers[0].observation is not None
    assert answers[2].observation is not None
    more = "More: observe with page={}; find searches the whole document."
    assert ends == [more.format(2), more.format(3), f"{answers[2].observation.stamp.tag}>>"]
    assert answers[3] == Answer(text="Failed: there is no page 4, as the document ends before it.", outcome="bad_call")


async def test_refs_of_a_further_page_act_and_end_those_of_before(bot: BotSession, page: FakePage) -> None:
    first, second = await bot.call("observe", {}), await bot.call("observe", {"page": 2})
    assert first.observation is not None
    assert second.observation is not None
    stale = await bot.call("click", {"ref": first.observation.refs[0].ref})
    done = await bot.call("click", {"ref": second.observation.refs[0].ref})
    assert (stale.outcome, done.outcome, page.document.facts) == ("stale_ref", "ok", {"paid": "251"})


@pytest.mark.parametrize("arguments", [{"text": "order 577,"}, {"regex": r"^Order 577$|Order 577,"}])
async def test_what_is_found_can_be_acted_on(bot: BotSession, page: FakePage, arguments: dict[str, Any]) -> None:
    by_row = {"text": "order 577"} if "text" in arguments else {"regex": "Order 577$"}
    line, found = await bot.call("find", arguments), await bot.call("find", by_row)
    assert '- StaticText "Order 577, to be paid"' in body(line)
    assert found.observation is not None
    (ref,) = found.observation.refs
    assert (await bot.call("click", {"ref": ref.ref})).text == "Clicked."
    assert page.document.facts == {"paid": "577"}


async def test_more_elements_than_refs_are_counted(bot: BotSession) -> None:
    found = await bot.call("find", {"text": "pay"})
    assert 'for text "pay": 600 lines and 600 elements match.\n\nAction refs (250 of 600):\n' in found.text


async def test_another_document_is_not_gone_on_with(bot: BotSession, page: FakePage) -> None:
    await bot.call("observe", {})
    page.run(lambda now: now.reload())
    refused = await bot.call("observe", {"page": 2})
    assert (refused.outcome, refused.text) == (
        "document_replaced",
        "Refused: The page was replaced by another document; observe again.",
    )
    assert (await bot.call("observe", {})).outcome == "ok"
    assert (await bot.call("observe", {"page": 2})).outcome == "ok"


async def test_a_document_that_grows_goes_on_and_a_change_before_the_cut_is_told(
    bot: BotSession, page: FakePage
) -> None:
    told = "What stands before it changed since page 1 was shown"
    await bot.call("observe", {})
    page.document.elements.append(FakeElement(kind="text", name="the end"))
    grown = await bot.call("observe", {"page": 2})
    await bot.call("observe", {})
    page.document.elements.insert(0, FakeElement(kind="text", name="news"))
    moved = await bot.call("observe", {"page": 2})
    assert (told in grown.text, told in moved.text) == (False, True)
    assert '- StaticText "the end"' in body(await bot.call("observe", {"page": 3}))


async def test_nothing_is_gone_on_with_before_an_observation(bot: BotSession) -> None:
    refused = await bot.call("observe", {"page": 2})
    assert (refused.outcome, refused.text) == (
        "stale_ref",
        "Refused: This tab was not observed yet; observe first.",
    )


async def test_a_paused_bot_may_find_and_after_resume_what_it_finds_counts(bot: BotSession, page: FakePage) -> None:
    async def press() -> str:
        found = await bot.call("find", {"text": "order 7,"})
        row = await bot.call("find", {"regex": "^Order 7$"})
        assert (found.outcome, row.observation is not None) == ("ok", True)
        assert row.observation is not None
        return (await bot.call("click", {"ref": row.observation.refs[0].ref})).outcome

    bot.provider.pause("ada")
    assert await press() == "paused"
    bot.provider.resume("ada")
    assert (await press(), page.document.facts) == ("ok", {"paid": "7"})


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("find", {"text": "a", "regex": "a"}, "find: give either text or regex."),
        ("find", {}, "find: give either text or regex."),
        ("find", {"text": " \n"}, "find: the text to find is empty."),
        ("find", {"regex": ""}, "find: the regular expression to find is empty."),
        ("find", {"regex": "["}, 'find: "[" is no regular expression of RE2: missing ]: [.'),
        ("find", {"text": "x" * 501}, 'find: "text": String should have at most 500 characters.'),
        ("observe", {"page": 0}, 'observe: "page": Input should be greater than or equal to 1.'),
    ],
)
async def test_bad_input_is_one_sentence(bot: BotSession, tool: str, arguments: dict[str, Any], said: str) -> None:
    assert await bot.call(tool, arguments) == Answer(text=f"Failed: {said}", outcome="bad_call")


async def test_without_paging_there_is_neither(page: FakePage, bot_on: BotOn) -> None:
    bot = await bot_on(page)
    answers = [await bot.call("find", {"text": "pay"}), await bot.call("observe", {"page": 2})]
    assert [answer.outcome for answer in answers] == ["bad_call", "bad_call"]
    assert answers[0].text.startswith('Failed: there is no tool "find"; there are open, observe, ')
    assert answers[1].text == 'Failed: observe: "page": Extra inputs are not permitted.'
    assert "More: " not in (await bot.call("observe", {})).text


async def test_visible_text_is_read_on_and_searched_too(page: FakePage, bot_on: BotOn) -> None:
    bot = await bot_on(page, "page-text", paging=True)
    answers = [await bot.call("observe", {"page": number}) for number in (1, 2, 3)]
    assert [answer.outcome for answer in answers] == ["ok"] * 3
    found = await bot.call("find", {"text": "order 600"})
    assert "Page text <<" in found.text
    assert "\nOrder 600, to be paid\n" in found.text
