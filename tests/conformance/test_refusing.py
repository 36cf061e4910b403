"""What no driver's page lets an action do, in the order of docs/observation.md, section 5."""

from typing import TYPE_CHECKING

import pytest

from harness.drivers.base import RefTarget
from observe.errors import (
    ChangedElement,
    Covered,
    DocumentReplaced,
    MissingNode,
    NotClickable,
    NotEditable,
    PageGone,
    StaleRef,
)
from observe.model import ElementState

if TYPE_CHECKING:
    from tests.conformance.conftest import Stage

STALE = "This ref is not of the latest observation of this tab; observe again."
REPLACED = "The page was replaced by another document; observe again."
NO_REF = "This is no ref; a ref is written whole, such as e4k2p9z_1; observe again."
MISSING = "The element is no longer in the page; observe again."
CHANGED = "The element's role, name or row is no longer what was shown; observe again."


async def test_a_ref_of_an_earlier_observation(stage: "Stage") -> None:
    earlier = await stage.observe("shop")
    later = await stage.tab.observe("ax")
    with pytest.raises(StaleRef) as refused:
        await stage.click(stage.named(earlier, "Save"))
    assert (refused.value.message, await stage.read("saved")) == (STALE, None)
    await stage.click(stage.named(later, "Save"))
    assert await stage.read("saved") == "yes"


async def test_a_ref_of_an_earlier_observation_in_the_page_itself(stage: "Stage") -> None:
    earlier = await stage.observe("shop")
    target = await stage.tab.target(stage.named(earlier, "Save").ref)
    await stage.tab.observe("ax")
    with pytest.raises(StaleRef) as refused:
        await stage.page.click(target)
    assert (refused.value.message, await stage.read("saved")) == (STALE, None)


async def test_a_ref_of_another_tab(stage: "Stage") -> None:
    other = await stage.another()
    await stage.observe("shop")
    seen = await other.observe("shop")
    with pytest.raises(StaleRef) as refused:
        await stage.click(stage.named(seen, "Save"))
    assert (refused.value.message, await stage.read("saved"), await other.read("saved")) == (STALE, None, None)


async def test_a_number_beyond_the_last(stage: "Stage") -> None:
    seen = await stage.observe("shop")
    with pytest.raises(StaleRef) as refused:
        await stage.tab.target(f"e{seen.stamp.tag}_12")
    assert refused.value.message == STALE


@pytest.mark.parametrize("form", ["e{tag}_0", "e{tag}_08", "e{tag}_8 ", "{tag}_8", "e8", "8", "_8", "Save", ""])
async def test_nonsense_for_a_ref(stage: "Stage", form: str) -> None:
    seen = await stage.observe("shop")
    with pytest.raises(StaleRef) as refused:
        await stage.tab.target(form.format(tag=seen.stamp.tag))
    assert refused.value.message == NO_REF


async def test_a_number_beyond_the_last_in_the_page_itself(stage: "Stage") -> None:
    seen = await stage.observe("shop")
    for number in (0, 12):
        with pytest.raises(StaleRef):
            await stage.page.click(RefTarget(stamp=seen.stamp, n=number))


@pytest.mark.parametrize("change", ["remove save", "swap save for its twin"])
async def test_an_element_that_is_gone(stage: "Stage", change: str) -> None:
    seen = await stage.observe("shop")
    await stage.mutate(change)
    with pytest.raises(MissingNode) as refused:
        await stage.click(stage.named(seen, "Save"))
    assert (refused.value.message, await stage.read("saved")) == (MISSING, None)


async def test_a_changed_name(stage: "Stage") -> None:
    seen = await stage.observe("shop")
    await stage.mutate("rename save")
    with pytest.raises(ChangedElement) as refused:
        await stage.click(stage.named(seen, "Save"))
    assert (refused.value.message, await stage.read("saved")) == (CHANGED, None)


async def test_a_changed_row(stage: "Stage") -> None:
    seen = await stage.observe("rows")
    await stage.mutate("reuse the first row")
    with pytest.raises(ChangedElement) as refused:
        await stage.click(stage.named(seen, "Delete"))
    assert (refused.value.message, await stage.read("deleted")) == (CHANGED, None)
    await stage.click(stage.named(seen, "Delete", 1))
    assert await stage.read("deleted") == "Mug"


async def test_a_change_outside_the_row(stage: "Stage") -> None:
    seen = await stage.observe("rows")
    await stage.mutate("change the total")
    await stage.click(stage.named(seen, "Delete"))
    assert await stage.read("deleted") == "Cup"


async def test_a_changed_state_is_no_other_element(stage: "Stage") -> None:
    seen = await stage.observe("shop")
    await stage.mutate("enable pay")
    await stage.click(stage.named(seen, "Pay"))
    assert await stage.read("paid") == "yes"


async def test_a_changed_element_comes_before_what_does_not_fit(stage: "Stage") -> None:
    seen = await stage.observe("shop")
    await stage.mutate("disable save")
    await stage.mutate("rename save")
    with pytest.raises(ChangedElement):
        await stage.click(stage.named(seen, "Save"))


async def test_a_reload_before_the_action(stage: "Stage") -> None:
    seen = await stage.observe("shop")
    await stage.reload()
    with pytest.raises(DocumentReplaced) as refused:
        await stage.click(stage.named(seen, "Save"))
    assert (refused.value.message, await stage.read("saved")) == (REPLACED, None)


async def test_a_reload_right_before_the_click_in_the_page_itself(stage: "Stage") -> None:
    seen = await stage.observe("shop")
    target = await stage.tab.target(stage.named(seen, "Save").ref)
    await stage.reload()
    with pytest.raises(DocumentReplaced) as refused:
        await stage.page.click(target)
    assert (refused.value.message, await stage.read("saved")) == (REPLACED, None)


async def test_a_replaced_document_comes_before_a_stale_ref(stage: "Stage") -> None:
    earlier = await stage.observe("shop")
    await stage.tab.observe("ax")
    await stage.reload()
    for ref in (stage.named(earlier, "Save").ref, "nonsense"):
        with pytest.raises(DocumentReplaced):
            await stage.tab.target(ref)


async def test_a_closed_tab_comes_before_a_stale_ref(stage: "Stage") -> None:
    await stage.observe("shop")
    await stage.page.close()
    with pytest.raises(PageGone) as refused:
        await stage.tab.target("nonsense")
    assert refused.value.message == "The tab was closed."


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Code", "it is read-only"),
        ("Locked", "it is disabled"),
        ("Save", "it is no text field"),
        ("Gift", "it is no text field"),
        ("Size", "it is no text field"),
        ("Receipt", "it is no text field"),
    ],
)
async def test_not_editable(stage: "Stage", name: str, why: str) -> None:
    seen = await stage.observe("shop")
    with pytest.raises(NotEditable) as refused:
        await stage.type(stage.named(seen, name), "text")
    assert refused.value.message == f"The element cannot be edited: {why}."
    after = await stage.tab.observe("ax")
    assert [ref.state for ref in after.refs] == [ref.state for ref in seen.refs]
    assert await stage.read(name) is None


async def test_no_select(stage: "Stage") -> None:
    seen = await stage.observe("shop")
    with pytest.raises(NotEditable) as refused:
        await stage.select(stage.named(seen, "Note"), "Small")
    assert refused.value.message == (
        "The element cannot be edited: it is no native select; click it, then click its option."
    )
    assert stage.named(await stage.tab.observe("ax"), "Note").state == ElementState(value="old", required=True)


async def test_not_clickable(stage: "Stage") -> None:
    seen = await stage.observe("shop")
    with pytest.raises(NotClickable) as refused:
        await stage.click(stage.named(seen, "Pay"))
    assert (refused.value.message, await stage.read("paid")) == (
        "The element cannot be clicked: it is disabled.",
        None,
    )


async def test_covered(stage: "Stage") -> None:
    seen = await stage.observe("covered")
    with pytest.raises(Covered) as refused:
        await stage.click(stage.named(seen, "Under"))
    assert (refused.value.message, await stage.read("clicked")) == (
        "The element is covered by another one (note); nothing was clicked.",
        None,
    )
