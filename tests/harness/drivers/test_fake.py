"""What the driver `fake` alone can do; what it shares with every driver is in tests/conformance."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from harness.drivers import fake
from harness.drivers.base import Dialog, Driver, DriverHost, DriverPage
from harness.drivers.fake import DEMO_URL, FakeDriver, FakeHost
from harness.drivers.fake_document import FakeDocument, FakeElement
from harness.drivers.fake_page import FakePage
from harness.host.tab import Tab
from harness.targets.base import Endpoint
from observe.errors import Covered, DialogOpen, DocumentReplaced, DriverGone, NotClickable, NotEditable
from observe.model import ElementState, PageText

NO_ENDPOINT = Endpoint(browser_ws="", http="", profile=Path(), browser_version="", os="", architecture="", pid=0)
HERE = "http://site.test/here"
THERE = "http://site.test/there"


def empty(title: str) -> Callable[[], FakeDocument]:
    return lambda: FakeDocument(title=title)


@pytest_asyncio.fixture(loop_scope="session")
async def driver() -> AsyncIterator[FakeDriver]:
    """Two empty pages; a test puts elements into them."""
    async with FakeHost({HERE: empty("Here"), THERE: empty("There")}).attach(NO_ENDPOINT) as attached:
        yield attached


@pytest_asyncio.fixture(loop_scope="session")
async def tab(driver: FakeDriver) -> FakePage:
    page = await driver.new_page()
    await page.navigate(HERE)
    return page


async def act_on(page: FakePage, *elements: FakeElement) -> tuple[Tab, list[str]]:
    """Put elements into the page and observe it; the refs of those that have one."""
    page.document.elements.extend(elements)
    owner = Tab(page)
    return owner, [ref.ref for ref in (await owner.observe("ax")).refs]


async def test_it_has_the_shape_of_a_driver(driver: FakeDriver) -> None:
    async with fake.start() as started:
        host: DriverHost = started
        attached: Driver = driver
        page: DriverPage = await attached.first_page()
        assert (host.name, host.version, page.target_id) == ("fake", "1", "FAKE1")


async def test_the_demo_page() -> None:
    async with fake.start() as host, host.attach(NO_ENDPOINT) as attached:
        page = await attached.first_page()
        await page.navigate(DEMO_URL)
        owner = Tab(page)
        note, save = (await owner.observe("text")).refs
        await page.type(await owner.target(note.ref), "milk")
        await page.click(await owner.target(save.ref))
        text = "Demo\nSave\nSaved: milk"
        assert await page.read_text() == PageText(text=text, chars_total=len(text))


async def test_one_seed_draws_the_same_nonces() -> None:
    async def nonces(seed: int) -> list[str]:
        async with FakeHost({}, seed).attach(NO_ENDPOINT) as attached:
            return [await (await attached.new_page()).document_nonce() for _ in range(3)]

    assert await nonces(7) == await nonces(7)
    assert await nonces(7) != await nonces(8)
    assert len(set(await nonces(7))) == 3


async def test_the_first_page_is_the_oldest_open_one(driver: FakeDriver) -> None:
    first = await driver.first_page()
    second = await driver.new_page()
    assert await driver.first_page() is first
    await first.close()
    assert await driver.first_page() is second


async def test_after_the_driver_is_detached() -> None:
    async with FakeHost({}).attach(NO_ENDPOINT) as attached:
        page = await attached.first_page()
    with pytest.raises(DriverGone) as refused:
        await page.document_nonce()
    assert refused.value.message == "The browser ended."


async def test_every_load_makes_a_new_document(tab: FakePage) -> None:
    before, nonce = tab.document, await tab.document_nonce()
    await tab.navigate(HERE)
    assert tab.document is not before
    assert await tab.document_nonce() != nonce


async def test_another_fragment_keeps_the_document(tab: FakePage) -> None:
    nonce = await tab.document_nonce()
    await tab.navigate(f"{HERE}#part")
    assert (await tab.document_nonce(), tab.document.url) == (nonce, f"{HERE}#part")


async def test_a_read_after_another_document_came(tab: FakePage) -> None:
    await tab.document_nonce()
    tab.run(FakeDocument.reload)
    with pytest.raises(DocumentReplaced):
        await tab.read_text()


async def test_a_link_to_nowhere_is_followed(tab: FakePage) -> None:
    owner, (link,) = await act_on(tab, FakeElement(kind="link", name="Out", href="http://nowhere.test/"))
    await tab.click(await owner.target(link))
    assert (tab.document.url, tab.document.title, tab.document.elements) == ("http://nowhere.test/", "", [])


async def test_documents_that_open_each_other_end() -> None:
    def turning() -> FakeDocument:
        return FakeDocument(title="Again", next_url=HERE)

    async with FakeHost({HERE: turning}).attach(NO_ENDPOINT) as attached:
        page = await attached.first_page()
        await page.navigate(HERE)
        assert page.document.title == "Again"


@pytest.mark.parametrize(("accept", "title"), [(True, "There"), (False, "Here")])
async def test_a_page_that_asks_before_it_is_left(tab: FakePage, accept: bool, title: str) -> None:
    tab.document.asks_before_leaving = True
    await tab.navigate(THERE)
    assert tab.dialog == Dialog(kind="beforeunload", message="")
    with pytest.raises(DialogOpen):
        await tab.document_nonce()
    await tab.answer_dialog(accept, None)
    assert tab.document.title == title


async def test_dialogs_wait_one_behind_the_other(tab: FakePage) -> None:
    heard: list[tuple[str, bool]] = []

    def ask(document: FakeDocument) -> None:
        document.confirm("First?", lambda _document, accepted, _text: heard.append(("first", accepted)))
        document.prompt("Second?", lambda _document, _accepted, text: heard.append((text, True)))

    tab.run(ask)
    assert tab.dialog == Dialog(kind="confirm", message="First?")
    await tab.answer_dialog(False, None)
    assert tab.dialog == Dialog(kind="prompt", message="Second?")
    await tab.answer_dialog(True, "Ann")
    assert heard == [("first", False), ("Ann", True)]


async def test_upload_through_a_button_that_opens_a_chooser(tab: FakePage, tmp_path: Path) -> None:
    field = FakeElement(kind="file", name="Receipt", hidden=True)
    button = FakeElement(kind="button", name="Choose", opens_file_field=field)
    owner, (ref,) = await act_on(tab, field, button)
    await tab.upload(await owner.target(ref), tmp_path / "a.txt")
    assert field.files == ("a.txt",)


async def test_upload_through_a_button_that_opens_none(tab: FakePage, tmp_path: Path) -> None:
    owner, (ref,) = await act_on(tab, FakeElement(kind="button", name="Choose"))
    with pytest.raises(NotEditable) as refused:
        await tab.upload(await owner.target(ref), tmp_path / "a.txt")
    assert (refused.value.message, refused.value.input_sent) == ("The element opens no file chooser.", True)


async def test_what_is_hidden_later_takes_no_action(tab: FakePage) -> None:
    button, note = FakeElement(kind="button", name="Save"), FakeElement(kind="field", name="Note")
    owner, (save, write) = await act_on(tab, button, note)
    button.hidden = note.hidden = True
    with pytest.raises(NotClickable) as unclicked:
        await tab.click(await owner.target(save))
    with pytest.raises(NotEditable) as unedited:
        await tab.type(await owner.target(write), "text")
    assert [unclicked.value.message, unedited.value.message] == [
        "The element cannot be clicked: it is hidden or inert.",
        "The element cannot be edited: it is hidden or inert.",
    ]


async def test_disabled_is_said_before_covered(tab: FakePage) -> None:
    button = FakeElement(kind="button", name="Save", disabled=True, covered_by="dialog")
    owner, (ref,) = await act_on(tab, button)
    with pytest.raises(NotClickable):
        await tab.click(await owner.target(ref))
    button.disabled = False
    with pytest.raises(Covered) as refused:
        await tab.click(await owner.target(ref))
    assert refused.value.message == "The element is covered by another one (dialog); nothing was clicked."


async def test_a_key_presses_the_focused_button(tab: FakePage) -> None:
    pressed: list[str] = []
    button = FakeElement(kind="button", name="More", on_click=lambda _document: pressed.append("More"))
    owner, (ref,) = await act_on(tab, button)
    await tab.press_key("Enter")
    assert pressed == []
    await tab.click(await owner.target(ref))
    await tab.press_key("Enter")
    assert pressed == ["More", "More"]


async def test_states_and_bounds_of_a_ref(tab: FakePage) -> None:
    first = FakeElement(kind="button", name="  a \n b ", expanded="false", selected="true", pressed="mixed")
    second = FakeElement(kind="select", name="n" * 81, options=("x", "y"), chosen=("x", "y"), multiple=True)
    tab.document.elements += [first, second, FakeElement(kind="checkbox", name="c", checked="mixed", invalid=True)]
    seen = await Tab(tab).observe("ax")
    assert [(ref.role, ref.name, ref.state) for ref in seen.refs] == [
        ("button", "a b", ElementState(expanded="false", selected="true", pressed="mixed")),
        ("listbox", "n" * 80, ElementState(value="x, y", name_truncated=True)),
        ("checkbox", "c", ElementState(checked="mixed", invalid=True)),
    ]


async def test_native_text_of_a_list_of_options(tab: FakePage) -> None:
    tab.document.elements.append(
        FakeElement(kind="select", name="Extras", options=("x", "y", "z"), chosen=("x", "z"), multiple=True)
    )
    assert (
        (await tab.read_ax()).text
        == """\
- listbox "Extras"
  - option "x" [selected]
  - option "y"
  - option "z" [selected]"""
    )
