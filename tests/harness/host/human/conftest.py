"""A provider over fake browsers with the person's pages, and browsers of persons that keep cookies."""

import asyncio
import html
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from harness.drivers.fake import DEMO_URL
from harness.host.approvals import ApprovalRequest
from harness.host.authority import Surroundings
from harness.host.fake import FakeAudit, FakeBrowsers, FakeTools
from harness.host.grants import Decision
from harness.host.human import HumanApprover, HumanSite, serve_human
from harness.host.provider import Policy, Provider
from harness.host.scope import Bot, Choice
from harness.host.takeover import Takeovers
from observe.errors import Refusal

BOUND_S = 10.0
ADA, BOB, EVE = Bot(name="ada", profile="P"), Bot(name="bob", profile="P"), Bot(name="eve", profile="Q")


class WatchedApprover(HumanApprover):
    """Tells when a question has come."""

    def __init__(self) -> None:
        super().__init__()
        self.came = asyncio.Event()

    async def ask(self, request: ApprovalRequest) -> Decision:
        """As it is, said aloud."""
        self.came.set()
        return await super().ask(request)


class Person:
    """One browser of a person: keeps cookies, follows no redirect by itself, posts as our own pages do."""

    def __init__(self, site: HumanSite, client: httpx.AsyncClient) -> None:
        self.site = site
        self.client = client
        self.origin = site.address.rstrip("/")

    async def get(self, path: str) -> httpx.Response:
        """One look."""
        return await self.client.get(path)

    async def post(self, path: str, **headers: str) -> httpx.Response:
        """One button."""
        return await self.client.post(path, headers={"origin": self.origin, **headers})

    async def enter(self) -> None:
        """Become the operator."""
        answer = await self.post(self.site.operator_link)
        assert (answer.status_code, answer.headers["location"]) == (303, "/")

    async def take(self, link: str) -> None:
        """Take over."""
        answer = await self.post(link)
        assert (answer.status_code, answer.headers["location"]) == (303, "/bot")

    @staticmethod
    def words(answer: httpx.Response) -> str:
        """What a page says, without its marks."""
        body = answer.text.partition("<body>")[2]
        return html.unescape(" ".join(re.sub(r"<[^>]*>", " ", body).split()))

    @staticmethod
    def buttons(answer: httpx.Response) -> list[str]:
        """Where the page's buttons go, in its order."""
        return re.findall(r'<form method="post" action="([^"]*)"', answer.text)


class Host:
    """A provider over fake browsers, and its pages."""

    def __init__(self) -> None:
        self.now = 0.0
        self.browsers = FakeBrowsers()
        self.approver = WatchedApprover()
        self.takeovers = Takeovers(lambda bot: self.provider.pause(bot), lambda: self.now, self.is_paused)
        around = Surroundings(person=self.takeovers)
        policy = Policy(approver=self.approver, choice=Choice(target="fake"), around=around)
        self.provider: Provider[object] = Provider(self.browsers.make, FakeTools(), FakeAudit(), policy)
        self.bots = [ADA, BOB, EVE]
        self.site: HumanSite

    def enter(self, bot: Bot) -> str:
        """Register a session of the bot."""
        session = f"{bot.name[:10]}-1"
        self.provider.set_access(bot.name, True)
        self.provider.register(bot, session)
        return session

    def begin(self, session: str, tool: str, **arguments: str) -> "asyncio.Task[str]":
        """One call beside the test: `ok`, or the kind of its refusal."""

        async def call() -> str:
            async with asyncio.timeout(BOUND_S):
                try:
                    await self.provider.call(session, tool, arguments)
                except Refusal as refusal:
                    return refusal.kind
            return "ok"

        return asyncio.create_task(call())

    async def asked(self, bot: Bot) -> "asyncio.Task[str]":
        """A call of a new session of the bot, which waits for its answer."""
        self.approver.came.clear()
        call = self.begin(self.enter(bot), "open", url=DEMO_URL)
        async with asyncio.timeout(BOUND_S):
            await self.approver.came.wait()
        return call

    def link(self, bot: Bot = ADA) -> str:
        """The address of a new takeover of the bot."""
        return self.site.takeover_link(self.takeovers.request(bot.name))

    def is_paused(self, bot: str) -> bool:
        """The same by name."""
        return self.provider.authority.control(bot).paused

    def paused(self, bot: Bot = ADA) -> bool:
        """Whether the bot is paused."""
        return self.provider.authority.control(bot.name).paused

    @asynccontextmanager
    async def browsing(self) -> AsyncIterator[Person]:
        """A browser of a person. There is no TLS here, so no certificates are loaded."""
        async with httpx.AsyncClient(
            base_url=self.site.address, trust_env=False, verify=False, timeout=BOUND_S
        ) as client:
            yield Person(self.site, client)


@pytest.fixture
async def host() -> AsyncIterator[Host]:
    made = Host()
    async with serve_human(made.provider, made.takeovers, made.approver, lambda: made.bots) as made.site:
        yield made
        made.browsers.failing_disposals = 0
        async with asyncio.timeout(BOUND_S):
            await made.provider.close()


@pytest.fixture
async def person(host: Host) -> AsyncIterator[Person]:
    async with host.browsing() as browser:
        yield browser
