"""The bounded read: up to where it fills what is shown it is the full tree, on every case page and on random ones."""

import asyncio
import base64
import random
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from formatters import structured
from formatters.catalog import get
from formatters.render import render
from harness.drivers import ax_bounded
from harness.drivers.cdp import Answer, CdpError, Command
from harness.drivers.current_page import CurrentPage
from harness.host.tab import Tab
from observe.errors import DocumentReplaced
from observe.model import AxNode
from observe.page import Filled

pytestmark = pytest.mark.browser

PAGES = sorted(path.stem for path in (Path(__file__).parents[2] / "cases" / "pages").glob("*.html"))
MOVING = {"redraws-every-5-ms"}
"""Pages of which no two reads are equal."""

FRAME = "<iframe srcdoc='<p>in the frame</p><button>inner</button>'></iframe>"
WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]


@pytest.fixture(autouse=True)
def every_page_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small pages are otherwise read whole, and a batch would take in all of them."""
    monkeypatch.setattr(ax_bounded, "whole_is_cheaper", lambda *_: False)
    monkeypatch.setattr(ax_bounded, "FIRST_CHARS", 100)
    monkeypatch.setattr(ax_bounded, "LEAST_CHARS", 100)
    monkeypatch.setattr(ax_bounded, "MOST_OF_SUBTREE", 6)


def fills(chars: int) -> Filled:
    """Filled by so many characters of the structured text."""

    def filled(nodes: Sequence[AxNode]) -> float:
        return len(structured.compact(nodes[:-1]).text) / chars if len(nodes) > 1 else 0.0

    return filled


async def same_beginning(page: CurrentPage, chars: int) -> bool:
    """Read both ways, prove that they agree; whether the bounded read stopped before the end."""
    await page.document_nonce()
    part, whole = await page.read_ax(fills(chars)), await page.read_ax()
    assert part.nodes is not None
    assert whole.nodes is not None
    if part.complete:
        assert part == whole
        return False
    certain = part.nodes[:-1]
    assert certain == whole.nodes[: len(certain)]
    assert len(structured.compact(certain).text) >= chars
    return True


@pytest.mark.parametrize("chars", [40, 400, 12_000])
@pytest.mark.parametrize("name", [name for name in PAGES if name not in MOVING])
async def test_case_pages(name: str, chars: int, page: CurrentPage, case_pages: str) -> None:
    await page._page.goto(f"{case_pages}/{name}.html")
    await same_beginning(page, chars)


def element(chance: random.Random, depth: int) -> str:
    """A random subtree with what makes trees of pages odd."""
    words = " ".join(chance.choices(WORDS, k=chance.randint(1, 4)))
    if depth == 0:
        return chance.choice(
            (words, f"<b>{words}</b>", f"<a href='#'>{words}</a>", f"<button>{words}</button>", "<br>")
        )
    inner = "".join(element(chance, depth - 1) for _ in range(chance.randint(1, 5)))
    return chance.choice(
        (
            f"<div>{inner}</div>",
            f"<div><div>{inner}</div></div>",
            f"<div>{inner}<div hidden>{words}</div><script>1</script></div>",
            f"<section aria-label='{words}'>{inner}</section>",
            f"<ul><li>{inner}</li><li>{words}</li></ul>",
            f"<h2>{words}</h2>{inner}",
            f"<div class=told>{inner}</div>",
            f"<div aria-hidden=true>{inner}</div>",
            f"<div role=presentation>{inner}</div>",
            f"<div style='display:contents'>{inner}</div>",
            f"<label>{words} <input value='{words}'></label>{inner}",
            f"<table><tr><td>{inner}</td><td>{words}</td></tr></table>",
            f"<div contenteditable>{inner}</div>",
            f"<x-host><span slot=s>{words}</span>{inner}</x-host>",
            f"<details open><summary>{words}</summary>{inner}</details>",
            f"<div aria-owns='owned{chance.randint(1, 3)}'>{inner}</div>",
            f"<p>{words}</p>{FRAME if chance.random() < 0.2 else inner}",
        )
    )


def document(seed: int) -> str:
    """A random page."""
    chance = random.Random(seed)
    body = "".join(element(chance, chance.randint(2, 5)) for _ in range(chance.randint(3, 8)))
    owned = "".join(f"<div id=owned{n}><button>owned {n}</button></div>" for n in (1, 2, 3))
    return (
        "<!doctype html><meta charset=utf-8><title>t</title>"
        "<style>.told::before{content:'told '} .told::after{content:' end'}</style>"
        f"<body>{body}{owned}<script>for (const host of document.querySelectorAll('x-host')) host.attachShadow("
        "{mode: 'open'}).innerHTML = '<p>first</p><slot></slot><i><slot name=s></slot></i>'</script>"
    )


@pytest.mark.parametrize("seed", range(24))
async def test_random_pages(seed: int, page: CurrentPage) -> None:
    source = base64.b64encode(document(seed).encode()).decode()
    await page._page.goto(f"data:text/html;base64,{source}")
    for chars in (30, 150, 600, 2_000):
        await same_beginning(page, chars)


LONG = "".join(
    f"<section><h2>Part {n}</h2><p>Words on {n} and <a href='#{n}'>link {n}</a>.</p><button>Act {n}</button></section>"
    for n in range(600)
)


async def test_a_long_page_is_shown_as_by_the_full_read(page: CurrentPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    await page._page.set_content(f"<!doctype html><title>Long</title><main>{LONG}</main>")
    tab = Tab(page)
    shown = []
    for filled in (None, get("structured").filled):
        observation = await tab.observe("ax", filled)
        shown.append(render(observation, "structured").text.replace(observation.stamp.tag, "tag").split("\n"))
    full, bounded = shown
    header = full.index("Action refs (250 of 1200):")
    assert bounded[header] == "Action refs (250 of 250+):"
    cut = next(line for line in full if line.startswith("[AX text truncated: "))
    chars, lines = cut.split()[3], cut.split()[7]
    assert bounded[-2] == f"[AX text truncated: {chars} characters, {lines} lines shown; the rest not counted]"
    kept = [line for line in full if line not in (full[header], cut)]
    assert [line for line in bounded if line not in (bounded[header], bounded[-2])] == kept


async def opened(page: CurrentPage, body: str) -> Tab:
    source = base64.b64encode(f"<!doctype html><meta charset=utf-8><title>t</title>{body}".encode()).decode()
    await page._page.goto(f"data:text/html;base64,{source}")
    return Tab(page)


@pytest.mark.parametrize("sections", [3, 60], ids=["read whole", "read by parts"])
async def test_a_reload_inside_a_burst(sections: int, page: CurrentPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    body = "".join(f"<section><h2>Part {n}</h2><p>Words on {n}.</p><p>More.</p></section>" for n in range(sections))
    tab = await opened(page, body)
    filled = get("structured").filled
    before = await tab.observe("ax", filled)
    post = page._cdp.post

    async def torn(commands: Iterable[Command], *, session: str | None = None) -> list[Answer]:
        given = list(commands)
        if len(given) < 3:  # what is asked for alone
            return await post(given, session=session)
        answers = await post(given[:2], session=session)
        await page._page.reload()
        return answers + await post(given[2:], session=session)

    with monkeypatch.context() as patch:
        patch.setattr(page._cdp, "post", torn)
        with pytest.raises(DocumentReplaced, match=r"^The page was replaced by another document; observe again\.$"):
            await tab.observe("ax", filled)
    after = await tab.observe("ax", filled)
    assert after.document != before.document
    assert after.ax is not None
    assert before.ax is not None
    assert after.ax.text == before.ax.text


async def test_what_a_document_left_unanswered_ends_with_it(page: CurrentPage) -> None:
    await opened(page, "<p>Words</p>")
    await page.document_nonce()
    answer: Answer = asyncio.get_running_loop().create_future()
    page._script.tie([answer])
    await page._page.reload()
    with pytest.raises(CdpError):
        await asyncio.wait_for(answer, 10)
    assert page._script.document is None


async def test_the_next_read_asks_for_what_was_enough(page: CurrentPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    tab = await opened(page, f"<main>{LONG}</main>")
    filled = get("structured").filled
    post = page._cdp.post
    batches: list[int] = []

    async def counted(commands: Iterable[Command], *, session: str | None = None) -> list[Answer]:
        given = list(commands)
        if asked := sum(command.method == "Accessibility.queryAXTree" for command in given):
            batches.append(asked)
        return await post(given, session=session)

    shown = []
    for _ in range(2):
        batches.clear()
        with monkeypatch.context() as patch:
            patch.setattr(page._cdp, "post", counted)
            shown.append(render(await tab.observe("ax", filled), "structured").chars_shown)
    assert shown[0] == shown[1]
    assert len(batches) == 1
