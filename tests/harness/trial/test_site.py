"""The fixture server over real HTTP: state for each run, nothing but the run's pages, bounded bodies, a clean end."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from harness.trial.site import MAX_BODY_BYTES, FixtureRun, FixtureServer, serve
from harness.trial.tasks import Task, load_tasks

FIXTURES = Path(__file__).parents[3] / "fixtures"
TASKS = load_tasks(FIXTURES)
NOTES = TASKS["notes/two-notes"]


@pytest.fixture
async def server() -> AsyncIterator[FixtureServer]:
    async with serve(TASKS) as served:
        yield served


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(trust_env=False) as opened:
        yield opened


async def save(client: httpx.AsyncClient, run: FixtureRun, page: str, text: str) -> int:
    answer = await client.post(run.url("api/records/notes"), json={"page": page, "text": text})
    return answer.status_code


async def test_saves_are_counted_in_order_and_reads_beside_them(
    server: FixtureServer, client: httpx.AsyncClient
) -> None:
    run = server.begin(NOTES)
    page = await client.get(run.url("one"))
    await client.head(run.url("two"))
    assert (page.status_code, page.headers["content-type"], page.headers["cache-control"]) == (
        200,
        "text/html; charset=utf-8",
        "no-store",
    )
    assert [await save(client, run, "one", "NOTE-ONE"), await save(client, run, "two", "NOTE-TWO")] == [201, 201]
    state = await run.read_back()
    assert state == {
        "records": {"notes": [{"page": "one", "text": "NOTE-ONE"}, {"page": "two", "text": "NOTE-TWO"}]},
        "reads": {"one": 1},
    }
    assert NOTES.is_right(state)
    listed = await client.get(run.url("api/records/notes"))
    assert listed.json() == [{"page": "one", "text": "NOTE-ONE"}, {"page": "two", "text": "NOTE-TWO"}]


@pytest.mark.parametrize(
    "saves",
    [
        [("one", "NOTE-ONE")],
        [("two", "NOTE-TWO"), ("one", "NOTE-ONE")],
        [("one", "NOTE-ONE"), ("one", "NOTE-ONE"), ("two", "NOTE-TWO")],
    ],
)
async def test_missing_reordered_and_doubled_saves_are_wrong(
    server: FixtureServer, client: httpx.AsyncClient, saves: list[tuple[str, str]]
) -> None:
    run = server.begin(NOTES)
    for page, text in saves:
        await save(client, run, page, text)
    state = await run.read_back()
    assert state is not None
    assert not NOTES.is_right(state)


async def test_runs_do_not_share_state(server: FixtureServer, client: httpx.AsyncClient) -> None:
    first, second = server.begin(NOTES), server.begin(NOTES)
    await save(client, first, "one", "NOTE-ONE")
    assert first.id != second.id
    assert await second.read_back() == {"records": {}, "reads": {}}


async def test_a_closed_run_is_gone_and_its_read_back_missing(server: FixtureServer, client: httpx.AsyncClient) -> None:
    run = server.begin(NOTES)
    run.close()
    run.close()
    assert await run.read_back() is None
    assert (await client.get(run.url("one"))).status_code == 404
    assert await save(client, run, "one", "NOTE-ONE") == 404


@pytest.mark.parametrize(
    "path", ["", "one.html", "three", "../task.toml", "%2e%2e/task.toml", "..%2ftask.toml", "%00", "/etc/passwd"]
)
async def test_only_the_tasks_pages_can_be_named(server: FixtureServer, client: httpx.AsyncClient, path: str) -> None:
    run = server.begin(NOTES)
    answer = await client.get(run.url(path))
    assert (answer.status_code, answer.headers["cache-control"]) == (404, "no-store")


async def test_a_task_that_is_not_served_is_refused(server: FixtureServer, tmp_path: Path) -> None:
    folder = tmp_path / "other" / "task"
    (folder / "pages").mkdir(parents=True)
    (folder / "pages" / "a.html").touch()
    (folder / "task.toml").write_text(
        'goal = "g"\nexpected = { reads = {} }\nlimits = { calls = 1, seconds = 1 }', encoding="utf-8"
    )
    with pytest.raises(ValueError, match="task other/task is not served here"):
        server.begin(load_tasks(tmp_path)["other/task"])


async def test_the_goal_names_the_runs_own_addresses(server: FixtureServer) -> None:
    run = server.begin(NOTES)
    assert f"The first is {run.base_url}one, the second {run.base_url}two." in run.goal
    assert "{base}" not in run.goal


async def test_bodies_are_bounded_and_json(server: FixtureServer, client: httpx.AsyncClient) -> None:
    run = server.begin(NOTES)
    address = run.url("api/records/notes")
    bodies = {
        b'"%s"' % (b"a" * (MAX_BODY_BYTES - 2)): 201,
        b'"%s"' % (b"a" * (MAX_BODY_BYTES - 1)): 413,
        b"": 400,
        b"{": 400,
        b"[" * MAX_BODY_BYTES: 400,
    }
    assert [(await client.post(address, content=body)).status_code for body in bodies] == list(bodies.values())


@pytest.mark.parametrize("path", ["api/records/", "api/records/a%20b", "api/records/a/b", f"api/records/{'a' * 65}"])
async def test_record_names_are_plain_words(server: FixtureServer, client: httpx.AsyncClient, path: str) -> None:
    run = server.begin(NOTES)
    assert (await client.post(run.url(path), json=1)).status_code == 404
    assert await run.read_back() == {"records": {}, "reads": {}}


async def test_signals_stay_with_the_caller_and_the_port_is_free_at_the_end(client: httpx.AsyncClient) -> None:
    before = signal.getsignal(signal.SIGINT)
    async with serve(TASKS) as served:
        run = served.begin(NOTES)
        # The client keeps its connection open, as a browser does.
        assert (await client.get(run.url("one"))).status_code == 200
        assert signal.getsignal(signal.SIGINT) is before
    assert await run.read_back() is None
    with pytest.raises(httpx.ConnectError):
        await client.get(run.url("one"))


async def test_an_error_in_the_block_stops_the_server_too() -> None:
    async def fail() -> None:
        async with serve({}) as served:
            addresses.append(served.base_url)
            raise ConnectionAbortedError

    addresses: list[str] = []
    with pytest.raises(ConnectionAbortedError):
        await fail()
    host, port = httpx.URL(addresses[0]).host, httpx.URL(addresses[0]).port
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(host, port)


@pytest.mark.parametrize("task", TASKS.values(), ids=lambda task: task.key)
async def test_our_pages_name_no_other_address(server: FixtureServer, client: httpx.AsyncClient, task: Task) -> None:
    run = server.begin(task)
    for page in task.files:
        text = (await client.get(run.url(page))).text
        assert "//" not in text.replace("// Every answer", "")
