"""The generic site: its bound, and that a caller of the summary holds no part of the state."""

from pydantic import JsonValue

from harness.trial.sites.base import MAX_RECORDS, ApiAnswer, ApiCall
from harness.trial.sites.generic import GenericSite


async def post(site: GenericSite, name: str, body: JsonValue) -> ApiAnswer:
    return await site.call(ApiCall(method="POST", path=f"records/{name}", query={}, body=body))


async def test_a_run_takes_a_bounded_number_of_records_over_all_names() -> None:
    site = GenericSite()
    for number in range(MAX_RECORDS):
        await post(site, f"name{number % 3}", number)
    refused = await post(site, "another", 0)
    assert (refused.status, refused.body) == (
        429,
        {"error": "This run keeps 1000 records and takes no more."},
    )
    records = site.summary()["records"]
    assert isinstance(records, dict)
    assert sorted(records) == ["name0", "name1", "name2"]


async def test_an_earlier_summary_does_not_change() -> None:
    site = GenericSite()
    await post(site, "notes", None)
    before = site.summary()
    await post(site, "notes", 2)
    site.note_read("one")
    assert before == {"records": {"notes": [None]}, "reads": {}}


async def test_a_list_that_nothing_was_posted_to_is_empty() -> None:
    site = GenericSite()
    answer = await site.call(ApiCall(method="GET", path="records/notes", query={}))
    assert answer == ApiAnswer(status=200, body=[])
    assert site.summary() == {"records": {}, "reads": {}}
