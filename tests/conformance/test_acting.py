"""What an action does in every driver's page."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from observe.errors import NotEditable
from observe.model import ElementState

if TYPE_CHECKING:
    from tests.conformance.conftest import Stage


def jpeg_size(picture: bytes) -> tuple[int, int] | None:
    """Width and height in px from a JPEG's frame header; None: it is no JPEG."""
    if picture[:2] != b"\xff\xd8":
        return None
    at = 2
    while picture[at] == 0xFF:
        if picture[at + 1] in (0xC0, 0xC1, 0xC2):
            return int.from_bytes(picture[at + 7 : at + 9], "big"), int.from_bytes(picture[at + 5 : at + 7], "big")
        at += 2 + int.from_bytes(picture[at + 2 : at + 4], "big")
    return None


@pytest.fixture
def receipt(tmp_path: Path) -> Path:
    """A file to upload."""
    path = tmp_path / "receipt.txt"
    path.write_text("paid")
    return path


async def test_click(stage: "Stage") -> None:
    seen = await stage.observe("shop")
    await stage.click(stage.named(seen, "Save"))
    assert await stage.read("saved") == "yes"


async def test_click_checks_a_checkbox(stage: "Stage") -> None:
    seen = await stage.observe("shop")
    await stage.click(stage.named(seen, "Gift"))
    after = await stage.tab.observe("ax")
    assert stage.named(after, "Gift").state == ElementState(checked="true")


async def test_type_replaces(stage: "Stage") -> None:
    seen = await stage.observe("shop")
    assert await stage.type(stage.named(seen, "Note"), "new") == "new"
    assert await stage.read("Note") == "new"


async def test_type_nothing_empties(stage: "Stage") -> None:
    seen = await stage.observe("shop")
    assert await stage.type(stage.named(seen, "Note"), "") == ""
    assert await stage.read("Note") == ""
    after = await stage.tab.observe("ax")
    assert stage.named(after, "Note").state.value is None


async def test_type_into_a_password_tells_nothing(stage: "Stage") -> None:
    seen = await stage.observe("shop")
    assert await stage.type(stage.named(seen, "Secret"), "quiet") is None
    assert await stage.read("Secret") == "typed"


async def test_type_tells_at_most_256(stage: "Stage") -> None:
    seen = await stage.observe("shop")
    assert await stage.type(stage.named(seen, "Note"), "n" * 300) == "n" * 256
    assert await stage.read("Note") == "n" * 300


async def test_select_by_visible_text(stage: "Stage") -> None:
    seen = await stage.observe("shop")
    await stage.select(stage.named(seen, "Size"), "Small")
    assert await stage.read("Size") == "Small"
    after = await stage.tab.observe("ax")
    assert stage.named(after, "Size").state == ElementState(value="Small")


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        (("Huge",), "it has no enabled option with this text"),
        (("Small", "Large"), "it takes exactly one option"),
        ((), "it takes exactly one option"),
    ],
)
async def test_select_what_does_not_fit(stage: "Stage", labels: tuple[str, ...], why: str) -> None:
    seen = await stage.observe("shop")
    with pytest.raises(NotEditable) as refused:
        await stage.select(stage.named(seen, "Size"), *labels)
    assert refused.value.message == f"The element cannot be edited: {why}."
    assert await stage.read("Size") is None


async def test_press_key(stage: "Stage") -> None:
    seen = await stage.observe("shop")
    await stage.type(stage.named(seen, "Note"), "ol")
    await stage.page.press_key("d")
    assert (await stage.read("Note"), await stage.read("key")) == ("old", "d")
    await stage.page.press_key("Backspace")
    assert (await stage.read("Note"), await stage.read("key")) == ("ol", "Backspace")
    await stage.page.press_key("Enter")
    assert (await stage.read("Note"), await stage.read("key")) == ("ol", "Enter")


async def test_scroll_tells_how_far_it_went(stage: "Stage") -> None:
    await stage.load("tall")
    assert [await stage.page.scroll(step) for step in (300, 5000, 10, -2000)] == [300, 980, 0, -1280]


async def test_upload_by_ref(stage: "Stage", receipt: Path) -> None:
    seen = await stage.observe("shop")
    await stage.page.upload(await stage.tab.target(stage.named(seen, "Receipt").ref), receipt)
    assert await stage.read("receipt") == "receipt.txt"


async def test_upload_without_ref(stage: "Stage", receipt: Path) -> None:
    await stage.load("shop")
    await stage.page.upload(None, receipt)
    assert await stage.read("receipt") == "receipt.txt"


async def test_upload_without_a_file_field(stage: "Stage", receipt: Path) -> None:
    await stage.load("rows")
    with pytest.raises(NotEditable) as refused:
        await stage.page.upload(None, receipt)
    assert refused.value.message == ("The element cannot be edited: the page has 0 file fields; name one by its ref.")


async def test_screenshot_is_a_jpeg_of_the_window(stage: "Stage") -> None:
    await stage.load("shop")
    assert jpeg_size(await stage.page.screenshot()) == (1280, 720)


async def test_a_form_is_filled_from_one_observation(stage: "Stage") -> None:
    seen = await stage.observe("shop")
    await stage.type(stage.named(seen, "Note"), "a gift")
    await stage.select(stage.named(seen, "Size"), "Small")
    await stage.click(stage.named(seen, "Gift"))
    await stage.click(stage.named(seen, "Save"))
    assert [await stage.read(fact) for fact in ("Note", "Size", "saved")] == ["a gift", "Small", "yes"]
