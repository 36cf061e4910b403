"""The order desk: product and city search, review and order, with the delays and rules of the complex task.

Searches are answered in the time that each takes; an answer that is overtaken by a newer search is still given. The
server computes every total itself. An order must repeat the last review that was valid.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from harness.errors import SpecError
from harness.trial.sites.base import FULL, MAX_RECORDS, NO_SUCH_CALL, ApiAnswer, ApiCall, PageReads

DATA_FILE = "catalog.json"

PRODUCT_SEARCH_S = 0.450
CITY_SEARCH_S = 0.250
ORDER_S = 0.750
"""Seconds that the server takes, from the published protocol; the page's debounce comes on top of the searches."""

MAX_QUERY_CHARS = 200
"""Code points of a search text that is kept."""

_STRICT = ConfigDict(strict=True, extra="forbid", frozen=True)

Pause = Callable[[float], Awaitable[None]]


class Product(BaseModel):
    """One article of the catalog; the price is in whole currency units."""

    model_config = _STRICT

    sku: str
    name: str
    price: int = Field(ge=0)


class City(BaseModel):
    """One place of delivery; shipping is in whole currency units for the whole order."""

    model_config = _STRICT

    id: str
    name: str
    region: str
    shipping: int = Field(ge=0)


class Catalog(BaseModel):
    """What can be ordered, and where it can go, in the order that searches list it."""

    model_config = _STRICT

    products: list[Product]
    cities: list[City]


class _Form(BaseModel):
    model_config = _STRICT

    sku: str = Field(max_length=64)
    quantity: int = Field(ge=1, le=99)
    city: str = Field(max_length=64)
    street: str = Field(max_length=200)
    note: str = Field(max_length=200)


def load_catalog(file: Path) -> Catalog:
    """Read `catalog.json` of an order task.

    Raises:
        SpecError: the file is missing or not of the agreed form.
    """
    try:
        return Catalog.model_validate_json(file.read_bytes())
    except OSError as error:
        raise SpecError(f"{file}: cannot be read: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"]) or "content"
        raise SpecError(f"{file}: {key}: {first['msg']}") from error


class OrdersSite:
    """The state of one fixture run of an order task.

    The summary lists `searches`, `city_searches`, `reviews` (`street_required` or `valid`), `refusals` (all other
    requests that were not granted) and `orders`, each in the order of arrival, and counts the page `reads`.
    """

    def __init__(self, catalog: Catalog, pause: Pause = asyncio.sleep) -> None:
        self._products = catalog.products
        self._cities = catalog.cities
        self._pause = pause
        self._searches: list[JsonValue] = []
        self._city_searches: list[JsonValue] = []
        self._reviews: list[JsonValue] = []
        self._refusals: list[JsonValue] = []
        self._orders: list[JsonValue] = []
        self._events: list[JsonValue] = []
        self._reads = PageReads()
        self._reviewed: _Form | None = None

    def note_read(self, page: str) -> None:
        """Count that a page was handed out."""
        self._reads.note(page)

    def summary(self) -> dict[str, JsonValue]:
        """The state of the run; the event log is for the page alone, and is not part of it."""
        return {
            "searches": list(self._searches),
            "city_searches": list(self._city_searches),
            "reviews": list(self._reviews),
            "refusals": list(self._refusals),
            "orders": list(self._orders),
            "reads": self._reads.summary(),
        }

    async def call(self, call: ApiCall) -> ApiAnswer:
        """Answer a search, a review or an order."""
        if len(self._events) >= MAX_RECORDS:
            return FULL
        match call.method, call.path:
            case "GET", "products":
                return await self._search_products(call.query.get("q", ""))
            case "GET", "cities":
                return await self._search_cities(call.query.get("q", ""))
            case "POST", "reviews":
                return self._review(call.body)
            case "POST", "orders":
                return await self._order(call.body)
            case _:
                return NO_SUCH_CALL

    async def _search_products(self, query: str) -> ApiAnswer:
        query = query[:MAX_QUERY_CHARS]
        found = [
            product for product in self._products if query.casefold() in f"{product.name} {product.sku}".casefold()
        ]
        self._searches.append(query)
        self._events.append(f'Product search "{query}": {len(found)} found')
        await self._pause(PRODUCT_SEARCH_S)
        return self._answer(200, {"products": [product.model_dump() for product in found]})

    async def _search_cities(self, query: str) -> ApiAnswer:
        query = query[:MAX_QUERY_CHARS]
        found = [city for city in self._cities if city.name.casefold().startswith(query.casefold())]
        self._city_searches.append(query)
        self._events.append(f'City search "{query}": {len(found)} found')
        await self._pause(CITY_SEARCH_S)
        return self._answer(200, {"cities": [city.model_dump() for city in found]})

    def _review(self, body: JsonValue) -> ApiAnswer:
        form = self._read(body)
        if form is None:
            return self._refuse("The review is not complete.")
        if not form.street.strip():
            self._reviews.append("street_required")
            self._events.append("Review refused: street is missing")
            return self._answer(422, {"error": "A street is required."})
        self._reviews.append("valid")
        self._reviewed = form
        self._events.append(f"Review accepted: total {self._total(form)}")
        return self._answer(200, {"total": self._total(form)})

    async def _order(self, body: JsonValue) -> ApiAnswer:
        form = self._read(body)
        await self._pause(ORDER_S)
        if form is None or form != self._reviewed:
            return self._refuse("The order is not the one that was reviewed.")
        self._reviewed = None
        number = f"ORDER-{len(self._orders) + 1:03}"
        total = self._total(form)
        self._orders.append({"number": number, **form.model_dump(), "total": total})
        self._events.append(f"Order {number} placed: total {total}")
        return self._answer(201, {"number": number, "total": total})

    def _read(self, body: JsonValue) -> _Form | None:
        """The form, if it is complete and names a product and a city of the catalog."""
        try:
            form = _Form.model_validate(body)
        except ValidationError:
            return None
        known = any(form.sku == product.sku for product in self._products) and any(
            form.city == city.id for city in self._cities
        )
        return form if known else None

    def _total(self, form: _Form) -> int:
        price = next(product.price for product in self._products if product.sku == form.sku)
        shipping = next(city.shipping for city in self._cities if city.id == form.city)
        return form.quantity * price + shipping

    def _refuse(self, reason: str) -> ApiAnswer:
        self._refusals.append(reason)
        self._events.append(f"Refused: {reason}")
        return self._answer(409, {"error": reason})

    def _answer(self, status: int, body: dict[str, JsonValue]) -> ApiAnswer:
        """Every answer brings the event log, so that the page shows what the server holds."""
        return ApiAnswer(status=status, body={**body, "events": list(self._events)})
