"""The pages that are measured: filler around the planted fragments, the same in each run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.benchmarks.peers.planted import Fact, Fragment, form_fragments, general_fragments, made_words

NEAR_EVERY = 2
"""Blocks of filler between two fragments of the start."""

SETTLED = """<script>
addEventListener("load", () => requestIdleCallback(() => fetch("/settled" + location.search), {timeout: 2000}));
</script>"""
"""The page says itself when it has come to rest, to every tool in the same way."""

FORM_FIELDS = 60

_PROSE = (
    "The harbour was quiet that morning, and the ferry left on time with few people on its upper deck. ",
    "Nobody had counted the crates in the second shed since the spring, so the list was started anew. ",
    "A road along the dyke leads to the mill, which grinds on two days of the week when there is wind. ",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page, the facts planted near its start and those in the rest of it."""

    name: str
    title: str
    html: str
    near: tuple[Fact, ...]
    far: tuple[Fact, ...]

    @property
    def facts(self) -> tuple[Fact, ...]:
        """All that were planted."""
        return (*self.near, *self.far)


def pages() -> dict[str, Page]:
    """Every page by its name, in the order of the table."""
    made = (
        _general("20", "20 elements", []),
        _general("500", "500 elements", _filled(480, _section)),
        _general("5000", "5,000 elements", _filled(4_980, _section)),
        _general("20000", "20,000 elements", _filled(19_980, _section)),
        _general("clickables", "1,000 clickables", [_clickable(number) for number in range(1_000)]),
        _general("text", "long text", [_paragraph(number) for number in range(400)]),
        _form(),
    )
    return {page.name: page for page in made}


def _filled(elements: int, section: Callable[[int], str]) -> list[str]:
    return [section(number) for number in range(elements // 10)]


def _section(number: int) -> str:
    """Ten elements: a heading, text, a link, a list, a button and a field."""
    return (
        f"<section><h2>Part {number}</h2><p>Some words on {number} and <a href='/parts/{number}'>link {number}</a>.</p>"
        f"<ul><li>first {number}</li><li><button>Act {number}</button></li></ul>"
        f"<label>Field {number} <input value='v{number}'></label></section>"
    )


def _clickable(number: int) -> str:
    if number % 2:
        return f"<button>Do step {number}</button> "
    return f"<a href='/places/{number}'>Go to place {number}</a> "


def _paragraph(number: int) -> str:
    heading = f"<h2>Chapter {number // 10}</h2>" if number % 10 == 0 else ""
    return f"{heading}<p>{number}. {''.join(_PROSE[(number + each) % len(_PROSE)] for each in range(4))}</p>"


def _field(number: int) -> str:
    match number % 4:
        case 0:
            return f"<label>Plain checkbox {number} <input type='checkbox'></label>"
        case 1:
            options = "<option>first choice<option>second choice<option>third choice"
            return f"<label>Choice {number} <select>{options}</select></label>"
        case _:
            return f"<label>Entry {number} <input placeholder='as on the card'></label>"


def _general(name: str, title: str, filler: Sequence[str]) -> Page:
    return _page(name, title, filler, general_fragments(made_words()))


def _form() -> Page:
    near, far = form_fragments(made_words())
    fields = sum(fragment.html.startswith("<label") for fragment in (*near, *far))
    page = _page("form", "form, 60 fields", [_field(number) for number in range(FORM_FIELDS - fields)], (near, far))
    html = page.html.replace("<main>", "<main><h1>Registration</h1><form>", 1)
    html = html.replace("</main>", "<button>Send</button></form></main>", 1)
    return Page(name=page.name, title=page.title, html=html, near=page.near, far=page.far)


def _page(
    name: str, title: str, filler: Sequence[str], fragments: tuple[tuple[Fragment, ...], tuple[Fragment, ...]]
) -> Page:
    near, far = fragments
    body = "\n".join(woven(filler, [each.html for each in near], [each.html for each in far]))
    head = f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{title}</title>{SETTLED}"
    return Page(
        name=name,
        title=title,
        html=f"{head}<body><main>\n{body}\n</main>",
        near=tuple(fact for each in near for fact in each.facts),
        far=tuple(fact for each in far for fact in each.facts),
    )


def woven(filler: Sequence[str], near: Sequence[str], far: Sequence[str]) -> list[str]:
    """The near ones after every second block from the start on, the far ones evenly over the rest, the last at the end.

    Where there is too little filler, what is left over follows at the end.
    """
    start = min(len(filler), NEAR_EVERY * len(near))
    places: dict[int, list[str]] = {}
    for index, each in enumerate(near):
        places.setdefault(min(index * NEAR_EVERY, start), []).append(each)
    for index, each in enumerate(far, start=1):
        places.setdefault(start + (len(filler) - start) * index // len(far), []).append(each)
    made = list(places.get(0, []))
    for number, block in enumerate(filler, start=1):
        made += [block, *places.get(number, [])]
    return made
