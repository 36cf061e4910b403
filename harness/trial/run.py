"""A whole run: every scheduled trial once, a row for each that was started, whatever happened to it."""

import asyncio
import datetime
import platform
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING

from pydantic import JsonValue

from harness.config import Settings
from harness.drivers.base import DriverHost, DriverPage
from harness.drivers.catalog import start_driver
from harness.errors import DriverError, RunStopped, SetupError, TargetError, quoted
from harness.host.tab import Tab
from harness.models.catalog import ROUTES
from harness.targets.base import Endpoint, Target
from harness.targets.catalog import find_target
from harness.tools.bot import BotTools
from harness.trial.bot import PROMPT_DIGEST, PersonaBot
from harness.trial.ledger import Ledger
from harness.trial.outcome import Verdict, judge
from harness.trial.schedule import Planned
from harness.trial.site import FixtureRun, FixtureServer, serve
from harness.trial.spec import PROTOCOL, RunSpec
from harness.trial.steps import StepLog
from observe.errors import Refusal
from reports.row import Platform, Row

if TYPE_CHECKING:
    from tiktoken import Encoding

MAX_ERROR_CHARS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """What a run needs besides its ledger. `encoding` None: token estimates are not known."""

    spec: RunSpec
    trials: tuple[Planned, ...]
    settings: Settings
    encoding: "Encoding | None"
    encoding_name: str | None
    chrome_version: str | None = None


@dataclass(slots=True, kw_only=True)
class _Trial:
    """One trial in progress: what its row will say."""

    planned: Planned
    log: StepLog
    started_at: str
    start: float = field(default_factory=time.perf_counter)
    verdict: Verdict | None = None
    error: str | None = None
    endpoint: Endpoint | None = None
    deviations: list[str] = field(default_factory=list)


class Runner:
    """Runs trials one after another, with the drivers, targets and fixture server of one run."""

    def __init__(self, plan: RunPlan, ledger: Ledger, server: FixtureServer) -> None:
        self._plan = plan
        self._ledger = ledger
        self._server = server
        self.hosts: dict[str, DriverHost] = {}
        self.not_started: dict[str, str] = {}
        self.targets: dict[str, Target] = {}
        self._digest = plan.spec.digest(PROMPT_DIGEST)

    async def start(self, name: str, stack: AsyncExitStack) -> None:
        """Start a driver program. One that does not start costs its own trials only: each gets its row with the reason.

        Raises:
            UsageError: there is no such driver.
            RunStopped: the manifest cannot be written.
        """
        try:
            self.hosts[name] = await stack.enter_async_context(start_driver(name, self._plan.settings))
        except DriverError as error:
            self.not_started[name] = error.message
            self._ledger.deviate(f"the driver {name} did not start, so its trials are not run: {error.message}")

    async def trial(self, planned: Planned) -> Row:
        """One trial; its row is on the disk when this returns, also where it is cancelled.

        Raises:
            RunStopped: row or steps cannot be written.
        """
        with self._ledger.trial(planned.trial_id) as (folder, file):
            trial = _Trial(
                planned=planned,
                log=StepLog(folder=folder, file=file, encoding=self._plan.encoding, facts=planned.task.facts),
                started_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
            )
            try:
                await self._play(trial)
            except asyncio.CancelledError:
                trial.verdict, trial.error = Verdict(outcome="interrupted", success=None), None
                self._ledger.append(self._row(trial))
                raise
            except RunStopped:
                raise
            except (TargetError, SetupError) as error:
                trial.verdict, trial.error = Verdict(outcome="target_failed", success=None), error.message
            except (DriverError, Refusal) as error:
                trial.verdict, trial.error = Verdict(outcome="driver_failed", success=None), error.message
            except Exception as error:  # noqa: BLE001 - the trial's border: every started trial gets its row
                trial.verdict = Verdict(outcome="driver_failed", success=None)
                trial.error = f"{type(error).__name__}: {quoted(str(error))}"
                trial.deviations.append("an error that the harness does not know ended this trial")
            row = self._row(trial)
            self._ledger.append(row)
            return row

    async def _play(self, trial: _Trial) -> None:
        planned, log = trial.planned, trial.log
        arm, task = planned.arm, planned.task
        if (why := self.not_started.get(arm.driver)) is not None:
            raise DriverError(why)
        fixture = self._server.begin(task)
        start = time.perf_counter()
        try:
            async with (
                self.targets[arm.target](self._plan.settings) as endpoint,
                self.hosts[arm.driver].attach(endpoint) as driver,
            ):
                trial.endpoint = endpoint
                try:
                    page = await driver.first_page()
                    log.sample("attach", (time.perf_counter() - start) * 1000)
                    ended = await self._bot(trial, fixture, page).play()
                finally:
                    log.save_driver_log(driver.diagnostics())
                trial.verdict = judge(ended, await fixture.read_back(), task)
                trial.error = ended.detail
        finally:
            fixture.close()

    def _bot(self, trial: _Trial, fixture: FixtureRun, page: DriverPage) -> PersonaBot:
        task = trial.planned.task
        return PersonaBot(
            goal=fixture.goal,
            limits=task.limits,
            route=ROUTES[self._plan.spec.model](task.script, fixture.base_url),
            tools=BotTools(tab=Tab(page), formatter=trial.planned.arm.formatter),
            log=trial.log,
        )

    def _row(self, trial: _Trial) -> Row:
        planned, log, verdict = trial.planned, trial.log, trial.verdict
        assert verdict is not None
        wall = time.perf_counter() - trial.start
        stages = log.stages()
        observed = log.observations > 0
        known = self._plan.encoding is not None
        endpoint = trial.endpoint
        host = self.hosts.get(planned.arm.driver)
        return Row(
            trial_id=planned.trial_id,
            block_id=planned.block_id,
            protocol=PROTOCOL,
            spec_digest=self._digest,
            driver=planned.arm.driver,
            target=planned.arm.target,
            formatter=planned.arm.formatter,
            suite=planned.task.suite,
            task=planned.task.name,
            repeat=planned.repeat,
            seed=self._plan.spec.seed,
            position=planned.position,
            started_at=trial.started_at,
            outcome=verdict.outcome,
            success=verdict.success,
            deviations=trial.deviations,
            calls=log.calls,
            observations=log.observations,
            refusals=log.refusals,
            errors=log.errors,
            retries=0,
            wall_s=wall,
            approval_s=0.0,
            wall_excl_approval_s=wall,
            call_s=log.call_s,
            model_s=stages["model"].sum / 1000 if "model" in stages else None,
            stages=stages,
            obs_chars=log.obs_chars if observed else None,
            obs_utf8_bytes=log.obs_utf8_bytes if observed else None,
            obs_chars_over_4=log.obs_chars // 4 if observed else None,
            est_tokens=log.est_tokens if observed and known else None,
            est_encoding=self._plan.encoding_name if known else None,
            usage=log.usage(),
            facts_kept=log.facts_kept() if planned.task.facts else None,
            facts_total=len(planned.task.facts) or None,
            driver_version=host.version if host is not None else None,
            browser_version=endpoint.browser_version if endpoint is not None else None,
            platform=Platform(os=platform.system(), architecture=platform.machine()),
            image=endpoint.image if endpoint is not None else None,
            error=trial.error[:MAX_ERROR_CHARS] if trial.error is not None else None,
        )


async def run(plan: RunPlan, ledger: Ledger, ended: Callable[[Row], None]) -> tuple[Row, ...]:
    """Run every trial that has no row yet, in the order of the schedule; `ended` hears of each row.

    Raises:
        RunStopped: rows cannot be written any more; those that are there can be resumed.
        AxtrialError: the fixture server did not start.
    """
    rows: list[Row] = []
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(serve({task.key: task for task in plan.spec.tasks}))
        runner = Runner(plan, ledger, server)
        waiting = [planned for planned in plan.trials if planned.trial_id not in ledger.done]
        for name in dict.fromkeys(planned.arm.driver for planned in waiting):
            await runner.start(name, stack)
        for name in dict.fromkeys(planned.arm.target for planned in waiting):
            runner.targets[name] = find_target(name)
        _record_versions(ledger, runner.hosts, plan.chrome_version)
        for planned in waiting:
            row = await runner.trial(planned)
            rows.append(row)
            ended(row)
    return tuple(rows)


def _record_versions(ledger: Ledger, hosts: Mapping[str, DriverHost], chrome: str | None) -> None:
    """Put the versions of what runs now into the manifest; a run that goes on with others has a deviation."""
    found = ledger.manifest.get("versions")
    versions = dict(found) if isinstance(found, dict) else {}
    drivers = versions.get("drivers")
    drivers = dict(drivers) if isinstance(drivers, dict) else {}
    now = {"chrome": chrome, "python": platform.python_version(), "axtrial": version("axtrial")}
    pairs = [(name, versions.get(name), value) for name, value in now.items()]
    pairs += [(f"driver {name}", drivers.get(name), host.version) for name, host in hosts.items()]
    for name, before, value in pairs:
        if before is not None and before != value:
            ledger.deviate(f"the run was resumed with {name} {value}, and was begun with {before}")
    merged: dict[str, JsonValue] = {**versions, "drivers": {**drivers, **{n: h.version for n, h in hosts.items()}}}
    if merged != found:
        ledger.manifest["versions"] = merged
        ledger.save_manifest()


def new_manifest(spec: RunSpec, trials: tuple[Planned, ...], chrome: str | None) -> dict[str, JsonValue]:
    """What a run is, before its first trial (docs/cli.md, "A run's folder")."""
    return {
        "protocol": PROTOCOL,
        "created_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "seed": spec.seed,
        "repeats": spec.repeats,
        "spec_digest": spec.digest(PROMPT_DIGEST),
        "prompt_digest": PROMPT_DIGEST,
        "model": spec.model,
        "arms": [str(arm) for arm in spec.arms],
        "tasks": [
            {"suite": task.suite, "name": task.name, "goal": task.goal, "digest": task.digest} for task in spec.tasks
        ],
        "schedule": [
            {
                "trial_id": planned.trial_id,
                "block_id": planned.block_id,
                "arm": str(planned.arm),
                "suite": planned.task.suite,
                "task": planned.task.name,
                "repeat": planned.repeat,
                "position": planned.position,
            }
            for planned in trials
        ],
        "versions": {
            "chrome": chrome,
            "python": platform.python_version(),
            "axtrial": version("axtrial"),
            "drivers": {},
        },
        "platform": {"os": platform.system(), "architecture": platform.machine()},
        "image": None,
        "deviations": [],
    }
