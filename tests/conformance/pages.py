"""The pages of the conformance list, each written twice, side by side: as HTML, and for the driver `fake`.

A page's script keeps what happened in the object `facts`, which a test reads back; `mutations` are what a page does of
its own accord. Loaded by conftest.py, as tests do not import each other.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from harness.drivers.fake_document import Effect, FakeDocument, FakeElement

LONG = "L" * 300


class Mutation(NamedTuple):
    """The same change of a page, as a script and as an effect."""

    script: str
    effect: Effect


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page in both forms."""

    html: str
    fake: Callable[[], FakeDocument]
    mutations: Mapping[str, Mutation] = field(default_factory=dict)


def _html(title: str, body: str) -> str:
    return f'<!doctype html><meta charset="utf-8"><title>{title}</title><script>var facts = {{}}</script>{body}'


def _notes(name: str, value: str | None = None) -> Callable[[FakeDocument], None]:
    """An effect that puts one fact down; without a value, what the named element holds."""

    def note(document: FakeDocument) -> None:
        document.facts[name] = value if value is not None else document.find(name).shown_value()

    return note


# ---- shop: one of each control ----

SHOP_HTML = _html(
    "Shop",
    f"""
<h1>Shop</h1>
<div>Welcome</div>
<div><input aria-label="Note" value="old" required oninput="facts.Note = value" onkeydown="facts.key = event.key"></div>
<div><input aria-label="Code" value="A1" readonly oninput="facts.Code = value"></div>
<div><input aria-label="Locked" value="B2" disabled oninput="facts.Locked = value"></div>
<div><input aria-label="Secret" value="hush" type="password" oninput="facts.Secret = 'typed'"></div>
<div><input aria-label="Long" value="{LONG}"></div>
<div><select aria-label="Size" onchange="facts.Size = value"><option>Small<option selected>Large</select></div>
<div><input type="checkbox" aria-label="Gift"></div>
<div><button id="save" onclick="facts.saved = 'yes'">Save</button></div>
<div><button id="pay" disabled onclick="facts.paid = 'yes'">Pay</button></div>
<div><a href="next">Next</a></div>
<div><input type="file" aria-label="Receipt" onchange="facts.receipt = files[0].name"></div>
""",
)


def _shop() -> FakeDocument:
    def key(document: FakeDocument, pressed: str) -> None:
        document.facts["key"] = pressed

    def receipt(document: FakeDocument) -> None:
        document.facts["receipt"] = document.find("Receipt").files[0]

    elements = [
        FakeElement(kind="heading", name="Shop"),
        FakeElement(kind="text", name="Welcome"),
        FakeElement(kind="field", name="Note", value="old", required=True, on_change=_notes("Note"), on_key=key),
        FakeElement(kind="field", name="Code", value="A1", readonly=True, on_change=_notes("Code")),
        FakeElement(kind="field", name="Locked", value="B2", disabled=True, on_change=_notes("Locked")),
        FakeElement(kind="password", name="Secret", value="hush", on_change=_notes("Secret", "typed")),
        FakeElement(kind="field", name="Long", value=LONG),
        FakeElement(
            kind="select", name="Size", options=("Small", "Large"), chosen=("Large",), on_change=_notes("Size")
        ),
        FakeElement(kind="checkbox", name="Gift"),
        FakeElement(kind="button", name="Save", on_click=_notes("saved", "yes")),
        FakeElement(kind="button", name="Pay", disabled=True, on_click=_notes("paid", "yes")),
        FakeElement(kind="link", name="Next", href="next"),
        FakeElement(kind="file", name="Receipt", on_change=receipt),
    ]
    return FakeDocument(title="Shop", elements=elements)


def _swap_save(document: FakeDocument) -> None:
    save = document.find("Save")
    document.replace(save, replace(save))


def _rename_save(document: FakeDocument) -> None:
    document.find("Save").name = "Delete all"


def _disable_save(document: FakeDocument) -> None:
    document.find("Save").disabled = True


def _enable_pay(document: FakeDocument) -> None:
    document.find("Pay").disabled = False


SHOP_MUTATIONS = {
    "remove save": Mutation("save.remove()", lambda document: document.replace(document.find("Save"))),
    "swap save for its twin": Mutation("save.replaceWith(save.cloneNode(true))", _swap_save),
    "rename save": Mutation("save.textContent = 'Delete all'", _rename_save),
    "disable save": Mutation("save.disabled = true", _disable_save),
    "enable pay": Mutation("pay.disabled = false", _enable_pay),
    "change the address": Mutation("location.hash = 'there'", lambda document: document.open("#there")),
}

# ---- rows: two buttons of one name ----

ROWS_HTML = _html(
    "Rows",
    """
<p id="total">2 things</p>
<ul><li><span id="first">Cup</span> <button onclick="facts.deleted = first.textContent">Delete</button></li>
<li>Mug <button onclick="facts.deleted = 'Mug'">Delete</button></li></ul>
""",
)


def _rows() -> FakeDocument:
    elements = [
        FakeElement(kind="text", name="2 things"),
        FakeElement(kind="button", name="Delete", row="Cup Delete", on_click=_notes("deleted", "Cup")),
        FakeElement(kind="button", name="Delete", row="Mug Delete", on_click=_notes("deleted", "Mug")),
    ]
    return FakeDocument(title="Rows", elements=elements)


def _reuse_row(document: FakeDocument) -> None:
    document.find("Delete").row = "Jug Delete"


def _change_total(document: FakeDocument) -> None:
    document.find("2 things").name = "3 things"


ROWS_MUTATIONS = {
    "reuse the first row": Mutation("first.textContent = 'Jug'", _reuse_row),
    "change the total": Mutation("total.textContent = '3 things'", _change_total),
}

# ---- dialogs: one button for each native dialog ----

DIALOGS_HTML = _html(
    "Dialogs",
    """
<div><button onclick="alert('Careful'); facts.warned = 'yes'">Warn</button></div>
<div><button onclick="facts.sure = String(confirm('Sure?'))">Ask</button></div>
<div><button onclick="facts.name = String(prompt('Name?'))">Name</button></div>
<div><input aria-label="Note"></div>
<div><select aria-label="Size"><option>Small<option>Large</select></div>
<div><input type="file" aria-label="Receipt"></div>
""",
)


def _dialogs() -> FakeDocument:
    def warn(document: FakeDocument) -> None:
        document.alert("Careful")
        document.facts["warned"] = "yes"

    def sure(document: FakeDocument, accepted: bool, _text: str) -> None:
        document.facts["sure"] = "true" if accepted else "false"

    def named(document: FakeDocument, accepted: bool, text: str) -> None:
        document.facts["name"] = text if accepted else "null"

    elements = [
        FakeElement(kind="button", name="Warn", on_click=warn),
        FakeElement(kind="button", name="Ask", on_click=lambda document: document.confirm("Sure?", sure)),
        FakeElement(kind="button", name="Name", on_click=lambda document: document.prompt("Name?", named)),
        FakeElement(kind="field", name="Note"),
        FakeElement(kind="select", name="Size", options=("Small", "Large"), chosen=("Small",)),
        FakeElement(kind="file", name="Receipt"),
    ]
    return FakeDocument(title="Dialogs", elements=elements)


# ---- small pages ----


def _next() -> FakeDocument:
    return FakeDocument(title="Next", elements=[FakeElement(kind="text", name="The next page")])


def _covered() -> FakeDocument:
    under = FakeElement(kind="button", name="Under", covered_by="note", on_click=_notes("clicked", "yes"))
    return FakeDocument(title="Covered", elements=[under])


def _many() -> FakeDocument:
    buttons = [FakeElement(kind="button", name=f"Button {number}") for number in range(1, 301)]
    return FakeDocument(title="Many", elements=buttons)


COVERED_BODY = """
<div style="position: relative; width: 90px"><button onclick="facts.clicked = 'yes'">Under</button>
<div role="note" style="position: absolute; inset: 0"></div></div>
"""
MANY_BODY = "".join(f"<button>Button {number}</button>" for number in range(1, 301))

PAGES: Mapping[str, Page] = {
    "shop": Page(html=SHOP_HTML, fake=_shop, mutations=SHOP_MUTATIONS),
    "rows": Page(html=ROWS_HTML, fake=_rows, mutations=ROWS_MUTATIONS),
    "dialogs": Page(html=DIALOGS_HTML, fake=_dialogs),
    "next": Page(html=_html("Next", "<div>The next page</div>"), fake=_next),
    "covered": Page(html=_html("Covered", COVERED_BODY), fake=_covered),
    "many": Page(html=_html("Many", MANY_BODY), fake=_many),
    "tall": Page(
        html=_html("Tall", '<body style="margin: 0"><div style="height: 2000px"></div>'),
        fake=lambda: FakeDocument(title="Tall", height=2000),
    ),
}
