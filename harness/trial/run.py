"""A whole run: every scheduled trial once, a row for each that was started, whatever happened to it."""

import asyncio
import datetime
import platform
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from harness.config import Settings
from harness.errors import AxtrialError, DriverError, RunStopped, SetupError, TargetError, quoted
from harness.host.approvals import AllowEverySession
from harness.host.audit import AuditLog
from harness.host.authority import Surroundings
from harness.host.browsers import BrowserRuntime, Browsers, opened_browsers
from harness.host.calls import CallTimes
from harness.host.provider import Policy, Provider, opened
from harness.host.scope import Bot, Choice, RuntimeKey
from harness.models.catalog import ROUTES
from harness.tools.answer import Answer
from harness.tools.bot import BotTools
from harness.tools.session import BotSession
from harness.trial.bot import CALL_NOT_RECORDED, PROMPT_DIGEST, PersonaBot
from harness.trial.ledger import Ledger
from harness.trial.manifest import record_versions
from harness.trial.outcome import Verdict, judge
from harness.trial.schedule import Planned
from harness.trial.site import FixtureRun, FixtureServer, serve
from harness.trial.spec import PROTOCOL, RunSpec
from harness.trial.steps import StepLog
from harness.trial.tasks import UPLOADS_FOLDER
from observe.errors import NotRecorded, Refusal
from reports.row import Platform, Row

if TYPE_CHECKING:
    from tiktoken import Encoding

MAX_ERROR_CHARS = 400

PROFILE = "trial"
"""The profile of a trial's one browser; the target makes a new, empty one for each."""


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
    browser: BrowserRuntime | None = None
    deviations: list[str] = field(default_factory=list)


class Runner:
    """Runs trials one after another, with the driver programs, the audit record and the fixture server of one run."""

    def __init__(
        self, plan: RunPlan, ledger: Ledger, server: FixtureServer, browsers: Browsers, audit: AuditLog
    ) -> None:
        self._plan = plan
        self._ledger = ledger
        self._server = server
        self._browsers = browsers
        self._audit = audit
        self.not_started: dict[str, str] = {}
        self._digest = plan.spec.digest(PROMPT_DIGEST)

    async def start(self, name: str) -> None:
        """Start a driver program. One that does not start costs its own trials only: each gets its row with the reason.

        Raises:
            UsageError: there is no such driver.
            RunStopped: the manifest cannot be written.
        """
        try:
            await self._browsers.program(name)
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
            except NotRecorded as error:
                raise RunStopped(CALL_NOT_RECORDED) from error
            except (AxtrialError, Refusal) as error:
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
        try:
            async with opened(self._provider(trial)) as provider:
                provider.register(Bot(name=str(arm), profile=PROFILE), planned.trial_id)
                try:
                    await self._attach(trial, provider)
                    ended = await self._bot(trial, fixture, provider).play()
                finally:
                    if trial.browser is not None:
                        log.save_driver_log(trial.browser.diagnostics())
                trial.verdict = judge(ended, await fixture.read_back(), task)
                trial.error = ended.detail or _told(trial.verdict)
            if provider.cleanup_required(PROFILE):
                trial.deviations.append("the trial's browser could not be ended")
        finally:
            fixture.close()

    def _provider(self, trial: _Trial) -> Provider[Answer]:
        """A provider of the trial's own: its bot may use one browser, which nobody had before and nobody has after."""
        arm = trial.planned.arm

        def make(key: RuntimeKey) -> BrowserRuntime:
            trial.browser = self._browsers.make(key)
            return trial.browser

        policy = Policy(
            approver=AllowEverySession(),
            choice=Choice(target=arm.target, drivers={arm.target: arm.driver}),
            around=Surroundings(access={str(arm): True}),
        )
        uploads = trial.planned.task.folder / UPLOADS_FOLDER
        bounded = arm.ax == "bounded"
        tools = BotTools(formatter=arm.formatter, bounded=bounded, paging=arm.paging, uploads=uploads)
        return Provider(make, tools, self._audit, policy)

    async def _attach(self, trial: _Trial, provider: Provider[Answer]) -> None:
        """Bring the browser up and give the bot its tab, so that no call of the bot's own contains that."""
        times = CallTimes()
        await provider.call(trial.planned.trial_id, "tabs", {"action": "open"}, times)
        trial.log.sample("attach", times.stages.ms["attach"])
        trial.log.approval_s += (times.approval_ms or 0.0) / 1000

    def _bot(self, trial: _Trial, fixture: FixtureRun, provider: Provider[Answer]) -> PersonaBot:
        task = trial.planned.task
        return PersonaBot(
            goal=fixture.goal,
            limits=task.limits,
            route=ROUTES[self._plan.spec.model](task.script, fixture.base_url),
            tools=BotSession(provider, trial.planned.trial_id),
            log=trial.log,
            paging=trial.planned.arm.paging,
        )

    def _row(self, trial: _Trial) -> Row:
        planned, log, verdict = trial.planned, trial.log, trial.verdict
        assert verdict is not None
        wall = time.perf_counter() - trial.start
        stages = log.stages()
        observed = log.observations > 0
        known = self._plan.encoding is not None
        endpoint = None if trial.browser is None else trial.browser.endpoint
        program = self._browsers.programs.get(planned.arm.driver)
        return Row(
            trial_id=planned.trial_id,
            block_id=planned.block_id,
            protocol=PROTOCOL,
            spec_digest=self._digest,
            driver=planned.arm.driver,
            target=planned.arm.target,
            formatter=planned.arm.representation,
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
            approval_s=log.approval_s,
            wall_excl_approval_s=wall - log.approval_s,
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
            driver_version=program.version if program is not None else None,
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
        AuditError: calls cannot be recorded.
    """
    rows: list[Row] = []
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(serve({task.key: task for task in plan.spec.tasks}))
        browsers = await stack.enter_async_context(opened_browsers(plan.settings))
        audit = stack.enter_context(AuditLog(plan.settings.state_dir))
        runner = Runner(plan, ledger, server, browsers, audit)
        waiting = [planned for planned in plan.trials if planned.trial_id not in ledger.done]
        for name in dict.fromkeys(planned.arm.driver for planned in waiting):
            await runner.start(name)
        record_versions(ledger, {n: one.version for n, one in browsers.programs.items()}, plan.chrome_version)
        for planned in waiting:
            row = await runner.trial(planned)
            rows.append(row)
            ended(row)
    return tuple(rows)


def _told(verdict: Verdict) -> str | None:
    """What is wrong where the bot says that it is done; the names are the task's own."""
    return f"not as the task expects: {', '.join(map(quoted, verdict.wrong))}" if verdict.wrong else None
