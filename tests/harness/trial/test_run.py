"""There are as many rows as trials started, whatever happened to them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from harness.config import Settings
from harness.drivers import agent_browser
from harness.drivers.fake import FakeDriver, FakeHost
from harness.drivers.fake_document import FakeDocument, FakeElement
from harness.drivers.native_pin import NativeBinary
from harness.errors import ChromeDied, DriverError, NativeMissing, RunStopped
from harness.host import browsers
from harness.host.audit import AuditEntry, AuditError, AuditLog, read_audit
from harness.host.browsers import opened_browsers
from harness.targets.base import Endpoint, Target
from harness.targets.fake import fake
from harness.trial.ledger import Ledger, new_ledger, resume_ledger
from harness.trial.manifest import new_manifest
from harness.trial.run import Runner, RunPlan, run
from harness.trial.schedule import schedule
from harness.trial.site import serve
from harness.trial.spec import SpecFile, build_spec
from harness.trial.tasks import load_tasks
from reports.load import load_run
from reports.row import Row

TASK = """
goal = "Read {base}page."
facts = ["Hello", "Bye"]
limits = { calls = 5, seconds = 20 }
expected.reads.page = 1
[[script]]
tool = "open"
url = "page"
[[script]]
tool = "observe"
see = ["Hello"]
"""

Make = Callable[[], FakeDocument]


class Everywhere(Mapping[str, Make]):
    """A site map that has the same page at every address."""

    def __getitem__(self, address: str) -> Make:
        return lambda: FakeDocument(title="Page", elements=[FakeElement(kind="text", name="Hello")])

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


@pytest.fixture
def plan(tmp_path: Path) -> RunPlan:
    folder = tmp_path / "fixtures" / "suite" / "task"
    (folder / "pages").mkdir(parents=True)
    (folder / "pages" / "page.html").write_text("<p>Hello")
    (folder / "task.toml").write_text(TASK)
    arms = ["fake/fake/structured", "fake/fake/page-text"]
    spec = build_spec(SpecFile(arms=arms, repeats=1), load_tasks(tmp_path / "fixtures"))
    return RunPlan(
        spec=spec,
        trials=schedule(spec),
        settings=Settings(state_dir=tmp_path / "state"),
        encoding=None,
        encoding_name=None,
    )


@pytest.fixture
def ledger(plan: RunPlan, tmp_path: Path) -> Ledger:
    return new_ledger(tmp_path / "run", new_manifest(plan.spec, plan.trials, None))


def starting(start: Callable[[], Awaitable[None]]) -> Target:
    """The target `fake`, with something that happens at its start."""

    @asynccontextmanager
    async def target(settings: Settings, *, profile: str | None = None) -> AsyncIterator[Endpoint]:
        await start()
        async with fake(settings) as endpoint:
            yield endpoint

    return target


@pytest.fixture
async def runner(plan: RunPlan, ledger: Ledger, tmp_path: Path) -> AsyncIterator[Runner]:
    async with (
        serve({task.key: task for task in plan.spec.tasks}) as server,
        opened_browsers(plan.settings) as made,
    ):
        made.programs["fake"] = FakeHost(Everywhere())
        with AuditLog(tmp_path / "state") as audit:
            yield Runner(plan, ledger, server, made, audit)


async def test_the_fixtures_state_decides_not_the_bots_claim(runner: Runner, plan: RunPlan, ledger: Ledger) -> None:
    row = await runner.trial(plan.trials[0])  # no request reaches the fixture: the fake page was never served by it
    assert (row.outcome, row.success, row.calls, row.observations) == ("wrong_result", False, 2, 1)
    assert row.error == 'not as the task expects: "reads"'
    assert (row.facts_kept, row.facts_total, row.usage, row.est_tokens, row.est_encoding) == (1, 2, None, None, None)
    assert (row.driver_version, row.browser_version, row.deviations) == ("1", "fake", [])
    read = "ax" if row.formatter == "structured" else "text"
    own = {"navigate", "settle", "model", "dom", read, "format", "harness"}
    assert set(row.stages) == {*own, "attach", "queue", "authority"}
    assert load_run(ledger.folder).rows == [row]


async def test_every_call_of_a_trial_is_recorded(runner: Runner, plan: RunPlan, tmp_path: Path) -> None:
    row = await runner.trial(plan.trials[0])
    found = read_audit(tmp_path / "state", last=10)
    assert found is not None
    (address,) = {one.summary for one in found.rows if one.tool == "open"}
    assert address.endswith("/page")
    assert [(one.bot, one.session, one.tool, one.summary, one.outcome, one.error) for one in found.rows] == [
        (row.arm, row.trial_id, "tabs", "open", "ok", None),
        (row.arm, row.trial_id, "open", address, "ok", None),
        (row.arm, row.trial_id, "observe", "", "ok", None),
    ]


@pytest.mark.parametrize("calls", [0, 1, 2])
async def test_a_call_that_cannot_be_recorded_ends_the_run(
    runner: Runner, plan: RunPlan, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    begin, begun = AuditLog.begin, list[str]()

    def full(log: AuditLog, entry: AuditEntry) -> int:
        begun.append(entry.tool)
        if len(begun) > calls:
            raise AuditError("no space is left")
        return begin(log, entry)

    monkeypatch.setattr(AuditLog, "begin", full)
    with pytest.raises(RunStopped):
        await runner.trial(plan.trials[0])
    assert begun == ["tabs", "open", "observe"][: calls + 1]
    assert load_run(ledger.folder).rows == []


Faulty = Callable[[Exception], Awaitable[Row]]


@pytest.fixture
def faulty(runner: Runner, plan: RunPlan, monkeypatch: pytest.MonkeyPatch) -> Faulty:
    """The row of a trial whose target raises an error."""

    async def play(error: Exception) -> Row:
        async def fail() -> None:
            raise error

        monkeypatch.setattr(browsers, "find_target", lambda _name: starting(fail))
        return await runner.trial(plan.trials[0])

    return play


@pytest.mark.parametrize(
    ("error", "outcome", "said", "known"),
    [
        (ChromeDied("Chrome ended."), "target_failed", "Chrome ended.", True),
        (DriverError("No answer."), "driver_failed", "No answer.", True),
        (KeyError("x" * 500), "driver_failed", "KeyError: \"'" + "x" * 199 + '"...', False),
    ],
)
async def test_each_fault_is_one_row(faulty: Faulty, error: Exception, outcome: str, said: str, known: bool) -> None:
    row = await faulty(error)
    assert (row.outcome, row.success, row.error) == (outcome, None, said)
    assert row.deviations == ([] if known else ["an error that the harness does not know ended this trial"])
    assert (row.calls, row.observations, row.obs_chars, row.browser_version) == (0, 0, None, None)


async def test_a_cancelled_trial_has_its_row_and_runs_again(
    runner: Runner, plan: RunPlan, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = asyncio.Event()

    async def hang() -> None:
        begun.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(browsers, "find_target", lambda _name: starting(hang))
    trial = asyncio.create_task(runner.trial(plan.trials[0]))
    await begun.wait()
    trial.cancel()
    with pytest.raises(asyncio.CancelledError):
        await trial
    (row,) = load_run(ledger.folder).rows
    assert (row.trial_id, row.outcome, row.success) == (plan.trials[0].trial_id, "interrupted", None)

    monkeypatch.undo()
    heard: list[Row] = []
    again = resume_ledger(ledger.folder, ledger.manifest)
    rows = await run(plan, again, heard.append)
    assert [row.trial_id for row in rows] == [planned.trial_id for planned in plan.trials]
    assert (heard, load_run(ledger.folder).rows) == (list(rows), list(rows))
    assert again.manifest["versions"] == {**dict(ledger.manifest["versions"]), "drivers": {"fake": "1"}}  # type: ignore[arg-type]


MISSING = "It is not there; run: axtrial setup --driver agent-browser"


@pytest.fixture
def without_native(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> RunPlan:
    """An arm whose driver program does not start, beside one that works."""

    def find(_settings: Settings) -> NativeBinary:
        raise NativeMissing(MISSING)

    monkeypatch.setattr(agent_browser, "find_native", find)
    folder = tmp_path / "tasks" / "suite" / "task"
    (folder / "pages").mkdir(parents=True)
    (folder / "pages" / "page.html").write_text("<p>Hello")
    (folder / "task.toml").write_text(TASK)
    arms = ["agent-browser/local/conservative", "fake/fake/structured"]
    spec = build_spec(SpecFile(arms=arms, repeats=2), load_tasks(tmp_path / "tasks"))
    return RunPlan(
        spec=spec,
        trials=schedule(spec),
        settings=Settings(state_dir=tmp_path / "state"),
        encoding=None,
        encoding_name=None,
    )


async def test_a_driver_that_does_not_start_costs_its_own_trials_only(without_native: RunPlan, tmp_path: Path) -> None:
    ledger = new_ledger(tmp_path / "run", new_manifest(without_native.spec, without_native.trials, None))
    rows = await run(without_native, ledger, lambda row: None)
    assert [row.trial_id for row in rows] == [planned.trial_id for planned in without_native.trials]
    assert load_run(ledger.folder).rows == list(rows)
    told = {(row.driver, row.outcome, row.driver_version, row.browser_version, row.error) for row in rows}
    assert {fact for fact in told if fact[0] == "agent-browser"} == {
        ("agent-browser", "driver_failed", None, None, MISSING)
    }
    assert [row.driver_version for row in rows if row.driver == "fake"] == ["1", "1"]
    assert ledger.manifest["deviations"] == [
        f"the driver agent-browser did not start, so its trials are not run: {MISSING}"
    ]


async def test_what_the_driver_notes_stays_in_the_trials_folder(
    runner: Runner, plan: RunPlan, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeDriver, "diagnostics", lambda _self: ('click 2.0 ms "ok"', 'fill 3.1 ms "no"'))
    row = await runner.trial(plan.trials[0])
    noted = ledger.folder / "trials" / row.trial_id / "driver.log"
    assert noted.read_text() == 'click 2.0 ms "ok"\nfill 3.1 ms "no"\n'


async def test_a_driver_that_notes_nothing_leaves_no_file(runner: Runner, plan: RunPlan, ledger: Ledger) -> None:
    row = await runner.trial(plan.trials[0])
    assert [path.name for path in (ledger.folder / "trials" / row.trial_id).iterdir()] == ["steps.jsonl"]


async def test_a_folder_that_cannot_be_written_stops_the_run(plan: RunPlan, ledger: Ledger) -> None:
    (ledger.folder / "trials").touch()
    with pytest.raises(RunStopped):
        await run(plan, ledger, lambda row: None)
    assert load_run(ledger.folder).rows == []
