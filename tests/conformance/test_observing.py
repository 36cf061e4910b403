"""What every driver's page says of itself."""

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from formatters.render import render
from observe.capture import new_stamp
from observe.errors import DocumentReplaced, LoadFailed, PageGone
from observe.model import ActionRef, AxText, ElementState, Observation, PageText, ReadCost, Stamp
from observe.page import Filled

if TYPE_CHECKING:
    from tests.conformance.conftest import Stage

SHOP_RENDERING = """\
URL: {url}
Title: Shop

Action refs (11 of 11):
e{tag}_1 textbox "Note" [value="old", required]
e{tag}_2 textbox "Code" [value="A1", readonly]
e{tag}_3 textbox "Locked" [value="B2", disabled]
e{tag}_4 textbox "Secret"
e{tag}_5 textbox "Long" [value="{cut}", value-truncated]
e{tag}_6 combobox "Size" [value="Large"]
e{tag}_7 checkbox "Gift" [checked=false]
e{tag}_8 button "Save"
e{tag}_9 button "Pay" [disabled]
e{tag}_10 link "Next"
e{tag}_11 input "Receipt"

AX text <<{tag}
- heading "Shop" [level=1]
- StaticText "Welcome"
- textbox "Note" [required]: "old"
- textbox "Code": "A1"
- textbox "Locked" [disabled]: "B2"
- textbox "Secret": "••••"
- textbox "Long": "{long}"
- combobox "Size" [expanded=false]: "Large"
  - MenuListPopup
    - option "Small"
    - option "Large" [selected]
- checkbox "Gift" [checked=false]
- button "Save"
- button "Pay" [disabled]
- link "Next"
- button "Receipt": "No file chosen"
{tag}>>"""

SHOP_TEXT = "Shop\nWelcome\nSmall\nLarge\nSave\nPay\nNext"

SHOP_AX = """\
- heading "Shop" [level=1]
- StaticText "Welcome"
- textbox "Note" [required]: old
- textbox "Code": A1
- textbox "Locked" [disabled]: B2
- textbox "Secret": ••••
- textbox "Long": {long}
- combobox "Size" [expanded=false]: Large
  - MenuListPopup
    - option "Small"
    - option "Large" [selected]
- checkbox "Gift" [checked=false]
- button "Save"
- button "Pay" [disabled]
- link "Next"
- button "Receipt": No file chosen"""


SHOP_INLINE = """\
Action refs (11 of 11): N before a role is etag_N

AX text <<tag
h1 "Shop"
"Welcome"
1 textbox "Note" [value="old", required]
2 textbox "Code" [value="A1", readonly]
3 textbox "Locked" [value="B2", disabled]
4 textbox "Secret" [value="••••"]
5 textbox "Long" [value="{long}"]
6 combobox "Size" [value="Large"] | "Small"
7 checkbox "Gift" [checked=false]
8 button "Save"
9 button "Pay" [disabled]
10 link "Next"
11 input "Receipt" [value="No file chosen", ax-role=button]
tag>>"""


def without_marks(seen: Observation) -> Observation:
    """What is left of an observation without tag, nonce and times."""
    refs = tuple(replace(ref, ref=ref.ref.replace(seen.stamp.tag, "")) for ref in seen.refs)
    cost = ReadCost(ax_ms=None, text_ms=None, dom_ms=0.0, total_ms=0.0)
    return replace(seen, stamp=Stamp(tag="", nonce=""), refs=refs, cost=cost)


def is_tree(seen: Observation) -> bool:
    """Whether the driver read the tree itself; a native driver hands over its text alone."""
    return seen.ax is not None and seen.ax.nodes is not None


async def test_rendering_of_a_page(stage: "Stage") -> None:
    seen = await stage.observe("shop")
    expected = SHOP_RENDERING.format(url=stage.address("shop"), tag=seen.stamp.tag, cut="L" * 256, long="L" * 300)
    if is_tree(seen):
        assert render(seen, "structured").text == expected
        return
    head, _, body = render(seen, "conservative").text.partition("\n\nAX text is verbatim")
    assert head == expected.partition("\n\nAX text <<")[0]
    assert body.endswith(f"\n{seen.stamp.tag}>>")


async def test_rendering_with_the_refs_in_the_tree(stage: "Stage") -> None:
    await stage.load("shop")
    seen = await stage.tab.observe("ax", joined=True)
    if not is_tree(seen):
        return
    lines = render(seen, "inline").text.replace(seen.stamp.tag, "tag").replace("L" * 300, "{long}")
    assert lines.partition("\n\n")[2] == SHOP_INLINE


async def test_the_elements_of_the_refs(stage: "Stage") -> None:
    await stage.load("shop")
    await stage.page.document_nonce()
    stamp = new_stamp()
    refs = (await stage.page.read_dom(stamp)).refs
    elements = await stage.page.read_ids(stamp)
    assert len(set(elements)) == len(elements) == len(refs)
    assert await stage.page.read_ids(new_stamp()) == ()


async def test_native_text(stage: "Stage") -> None:
    seen = await stage.observe("shop")
    assert seen.ax is not None
    if is_tree(seen):
        assert seen.ax == AxText(source="tree", text=SHOP_AX.format(long="L" * 300), nodes=seen.ax.nodes)
        return
    assert (seen.ax.source, seen.ax.nodes) == ("native", None)
    names = [f'"{ref.name}"' for ref in seen.refs]
    assert [name for name in names if name not in seen.ax.text] == []


async def test_visible_text(stage: "Stage") -> None:
    await stage.load("shop")
    seen = await stage.tab.observe("text")
    assert (seen.ax, seen.page_text) == (None, PageText(text=SHOP_TEXT, chars_total=len(SHOP_TEXT)))


async def test_a_password_has_no_value(stage: "Stage") -> None:
    seen = await stage.observe("shop")
    ref = f"e{seen.stamp.tag}_4"
    assert stage.named(seen, "Secret") == ActionRef(ref=ref, role="textbox", name="Secret", state=ElementState())


async def test_a_long_value_is_truncated(stage: "Stage") -> None:
    seen = await stage.observe("shop")
    assert stage.named(seen, "Long").state == ElementState(value="L" * 256, value_truncated=True)


async def test_two_observations_of_an_unchanged_page_agree(stage: "Stage") -> None:
    first = await stage.observe("shop")
    second = await stage.tab.observe("ax")
    assert without_marks(first) == without_marks(second)
    assert first.stamp.tag != second.stamp.tag


async def test_the_first_250_of_300(stage: "Stage") -> None:
    seen = await stage.observe("many")
    assert seen.refs_total == 300
    assert [(ref.ref, ref.name) for ref in seen.refs] == [
        (f"e{seen.stamp.tag}_{number}", f"Button {number}") for number in range(1, 251)
    ]
    shown = render(seen, "structured" if is_tree(seen) else "conservative").text
    assert "Action refs (250 of 300):" in shown.splitlines()


async def test_a_change_of_the_address_alone_keeps_the_document(stage: "Stage") -> None:
    before = await stage.observe("shop")
    await stage.mutate("change the address")
    await stage.click(stage.named(before, "Save"))
    assert await stage.read("saved") == "yes"
    after = await stage.tab.observe("ax")
    assert (after.document, after.url) == (before.document, stage.address("shop#there"))


async def test_a_link_is_followed_and_settled(stage: "Stage") -> None:
    before = await stage.observe("shop")
    await stage.click(stage.named(before, "Next"))
    after = await stage.tab.observe("text")
    assert (after.url, after.title, after.page_text) == (
        stage.address("next"),
        "Next",
        PageText(text="The next page", chars_total=13),
    )
    assert after.document != before.document


async def test_a_reload_between_the_reads(stage: "Stage", monkeypatch: pytest.MonkeyPatch) -> None:
    before = await stage.observe("shop")
    read_ax = stage.page.read_ax

    async def read_and_reload(filled: Filled | None = None) -> AxText:
        read = await read_ax(filled)
        await stage.reload()
        return read

    with monkeypatch.context() as patch:
        patch.setattr(stage.page, "read_ax", read_and_reload)
        with pytest.raises(DocumentReplaced, match=r"^The page was replaced by another document; observe again\.$"):
            await stage.tab.observe("ax")
    with pytest.raises(DocumentReplaced):
        await stage.tab.target(stage.named(before, "Save").ref)
    after = await stage.tab.observe("ax")
    await stage.click(stage.named(after, "Save"))
    assert await stage.read("saved") == "yes"


async def test_a_reload_after_the_last_read(stage: "Stage", monkeypatch: pytest.MonkeyPatch) -> None:
    await stage.load("shop")
    read_dom = stage.page.read_dom
    stamps: list[Stamp] = []

    async def read_and_reload(stamp: Stamp, *, counted: bool = True, before: int = 0) -> object:
        read = await read_dom(stamp, counted=counted, before=before)
        stamps.append(stamp)
        await stage.reload()
        return read

    with monkeypatch.context() as patch:
        patch.setattr(stage.page, "read_dom", read_and_reload)
        with pytest.raises(DocumentReplaced):
            await stage.tab.observe("ax")
    seen = await stage.tab.observe("ax")
    assert seen.stamp != stamps[0]


async def test_an_unknown_address(stage: "Stage") -> None:
    seen = await stage.observe("shop")
    with pytest.raises(LoadFailed) as refused:
        await stage.page.navigate("http://unknown.invalid/")
    assert refused.value.message == "The page could not be loaded (net::ERR_NAME_NOT_RESOLVED)."
    with pytest.raises(DocumentReplaced):
        await stage.tab.target(stage.named(seen, "Save").ref)
    assert (await stage.observe("next")).title == "Next"


@pytest.mark.parametrize(
    "form", ["127.0.0.1:9/a", "localhost:9/a", "a.test", "//a.test/", "/etc/hosts", "", " http://a.test/"]
)
async def test_an_address_without_a_scheme(form: str, stage: "Stage") -> None:
    seen = await stage.observe("shop")
    with pytest.raises(LoadFailed) as refused:
        await stage.page.navigate(form)
    said = "The address has no scheme (as http:// is one); nothing was loaded."
    assert (refused.value.message, refused.value.input_sent) == (said, None)
    assert (await stage.tab.observe("ax")).url == seen.url


async def test_a_closed_tab_leaves_the_other_usable(stage: "Stage") -> None:
    other = await stage.another()
    await stage.observe("shop")
    seen = await other.observe("shop")
    await stage.page.close()
    with pytest.raises(PageGone):
        await stage.tab.observe("ax")
    await other.click(other.named(seen, "Save"))
    assert await other.read("saved") == "yes"
