"""What the authority adds to a call, the audit record in its file included. Bound: a median below 2 ms."""

import asyncio
import statistics
from pathlib import Path

from pytest_benchmark.fixture import BenchmarkFixture

from harness.drivers.fake import DEMO_URL
from harness.host.approvals import AllowEverySession
from harness.host.audit import AuditLog
from harness.host.authority import Surroundings
from harness.host.fake import FakeBrowsers
from harness.host.provider import Policy, Provider
from harness.host.scope import Bot
from harness.tools.answer import Answer
from harness.tools.bot import BotTools
from harness.tools.session import BotSession

ROUNDS = 1_000
MOST_MS = 2.0


def test_authority(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    taken: list[float] = []
    with asyncio.Runner() as runner, AuditLog(tmp_path) as audit:
        policy = Policy(approver=AllowEverySession(), around=Surroundings(access={"ada": True}))
        provider: Provider[Answer] = Provider(FakeBrowsers().make, BotTools(formatter="structured"), audit, policy)
        provider.register(Bot(name="ada", profile="P"), "ada-1")
        session = BotSession(provider, "ada-1")
        runner.run(session.call("open", {"url": DEMO_URL}))

        def call() -> None:
            answer = runner.run(session.call("observe", {}))
            assert answer.outcome == "ok"
            taken.append(session.times.authority_ms)

        benchmark.pedantic(call, rounds=ROUNDS, warmup_rounds=10)  # type: ignore[no-untyped-call]
    median = statistics.median(taken)
    benchmark.extra_info["authority_ms"] = {"median": median, "max": max(taken)}
    assert median < MOST_MS
