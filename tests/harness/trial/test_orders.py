"""The rules of the order desk, without a server and without its delays."""

import asyncio
from pathlib import Path

import pytest
from pydantic import JsonValue

from harness.errors import SpecError
from harness.trial.sites.base import MAX_RECORDS, ApiAnswer, ApiCall
from harness.trial.sites.orders import OrdersSite, load_catalog
from harness.trial.tasks import load_tasks

TASK = load_tasks(Path(__file__).parents[3] / "fixtures")["orders/limited-order"]
CATALOG = load_catalog(TASK.folder / "catalog.json")

FORM: dict[str, JsonValue] = {
    "sku": "AUR-LIMITED",
    "quantity": 2,
    "city": "tokyo-jp",
    "street": "1 QA Lane",
    "note": "Leave with QA concierge",
}


class Desk:
    """A site whose pauses are recorded, and take no time."""

    def __init__(self) -> None:
        self.pauses: list[float] = []
        self.site = OrdersSite(CATALOG, self._pause)

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)

    async def get(self, path: str, q: str) -> ApiAnswer:
        return await self.site.call(ApiCall(method="GET", path=path, query={"q": q}))

    async def post(self, path: str, body: JsonValue) -> ApiAnswer:
        return await self.site.call(ApiCall(method="POST", path=path, query={}, body=body))


def listed(answer: ApiAnswer, what: str, field: str) -> list[JsonValue]:
    assert isinstance(answer.body, dict)
    entries = answer.body[what]
    assert isinstance(entries, list)
    return [entry[field] for entry in entries if isinstance(entry, dict)]


async def test_the_whole_protocol_ends_in_the_expected_state() -> None:
    desk = Desk()
    for page in ("desk", "reference", "order"):
        desk.site.note_read(page)
    assert len(listed(await desk.get("products", ""), "products", "sku")) == 57
    assert listed(await desk.get("products", "Aurora"), "products", "sku") == ["AUR-LITE", "AUR-LIMITED", "AUR-STUDIO"]
    assert listed(await desk.get("cities", "Tokyo"), "cities", "shipping") == [700, 300]
    refused = await desk.post("reviews", {**FORM, "street": "  "})
    reviewed = await desk.post("reviews", FORM)
    placed = await desk.post("orders", FORM)
    assert (refused.status, reviewed.status) == (422, 200)
    assert placed == ApiAnswer(
        status=201,
        body={
            "number": "ORDER-001",
            "total": 2700,
            "events": [
                'Product search "": 57 found',
                'Product search "Aurora": 3 found',
                'City search "Tokyo": 2 found',
                "Review refused: street is missing",
                "Review accepted: total 2700",
                "Order ORDER-001 placed: total 2700",
            ],
        },
    )
    assert desk.pauses == [0.45, 0.45, 0.25, 0.75]
    assert desk.site.summary() == TASK.expected


@pytest.mark.parametrize(
    ("changes", "total"),
    [({"quantity": 1}, 1500), ({"city": "tokyo-tx"}, 3100), ({"sku": "AUR-LITE", "quantity": 3}, 1650)],
)
async def test_the_server_computes_the_total(changes: dict[str, JsonValue], total: int) -> None:
    desk = Desk()
    await desk.post("reviews", {**FORM, **changes})
    await desk.post("orders", {**FORM, **changes})
    assert desk.site.summary()["orders"] == [{"number": "ORDER-001", **FORM, **changes, "total": total}]
    assert not TASK.is_right(desk.site.summary())


@pytest.mark.parametrize(
    "body",
    [
        None,
        {**FORM, "total": 1},
        {**FORM, "sku": "AUR-NONE"},
        {**FORM, "city": "tokyo"},
        {**FORM, "quantity": 0},
        {**FORM, "quantity": "2"},
        {**FORM, "note": "a" * 201},
    ],
)
async def test_an_incomplete_or_unknown_form_is_a_refusal_of_its_own(body: JsonValue) -> None:
    desk = Desk()
    assert (await desk.post("reviews", body)).status == 409
    assert (await desk.post("orders", body)).status == 409
    assert desk.site.summary()["reviews"] == []
    assert desk.site.summary()["refusals"] == [
        "The review is not complete.",
        "The order is not the one that was reviewed.",
    ]


async def test_an_order_repeats_the_last_valid_review_once() -> None:
    desk = Desk()
    await desk.post("reviews", FORM)
    statuses = [
        (await desk.post("orders", {**FORM, "quantity": 3})).status,
        (await desk.post("orders", FORM)).status,
        (await desk.post("orders", FORM)).status,
    ]
    assert statuses == [409, 201, 409]
    assert not TASK.is_right(desk.site.summary())


async def test_an_overtaken_search_is_still_answered() -> None:
    gates: list[asyncio.Event] = []
    both = asyncio.Event()

    async def pause(seconds: float) -> None:
        gate = asyncio.Event()
        gates.append(gate)
        if len(gates) == 2:
            both.set()
        await gate.wait()

    site = OrdersSite(CATALOG, pause)
    order: list[str] = []

    async def search(query: str) -> ApiAnswer:
        answer = await site.call(ApiCall(method="GET", path="products", query={"q": query}))
        order.append(query)
        return answer

    async with asyncio.TaskGroup() as group:
        stale = group.create_task(search("Au"))
        fresh = group.create_task(search("Aurora Limited"))
        await both.wait()
        gates[1].set()
        await fresh
        gates[0].set()
    assert order == ["Aurora Limited", "Au"]
    assert listed(stale.result(), "products", "sku") == ["AUR-LITE", "AUR-LIMITED", "AUR-STUDIO"]
    assert listed(fresh.result(), "products", "sku") == ["AUR-LIMITED"]


async def test_searches_are_kept_bounded() -> None:
    desk = Desk()
    await desk.get("cities", "x" * 300)
    for _ in range(MAX_RECORDS - 1):
        await desk.get("products", "none")
    assert desk.site.summary()["city_searches"] == ["x" * 200]
    assert (await desk.get("products", "none")).status == 429


async def test_other_calls_do_not_exist() -> None:
    desk = Desk()
    assert (await desk.get("orders", "")).status == 404
    assert (await desk.post("products", FORM)).status == 404


@pytest.mark.parametrize(
    ("content", "reason"),
    [("{", "content: Invalid JSON"), ('{"products": []}', "cities: Field required"), (None, "cannot be read")],
)
def test_a_wrong_catalog_is_refused(tmp_path: Path, content: str | None, reason: str) -> None:
    file = tmp_path / "catalog.json"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    with pytest.raises(SpecError, match=reason):
        load_catalog(file)
