"""A whole host: a person allows a session, takes over and lets go; profiles, flags and the record outlive the host."""

import asyncio
import http.server
import re
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx
import pytest

from harness.config import Settings, load_settings
from harness.errors import UsageError
from harness.host.audit import read_audit
from harness.host.scope import Bot, Choice
from harness.tools.host import BotHost, HostOptions, bot_host
from observe.errors import NotAuthorized

pytestmark = pytest.mark.browser

ADA = Bot(name="ada", profile="work")
PAGE = """<!doctype html><title>Visits</title><p id=p></p><button>Next</button><script>
localStorage.n = 1 + Number(localStorage.n || 0); p.textContent = "Visit " + localStorage.n</script>"""


@pytest.fixture
def address() -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(PAGE.encode())

        def log_message(self, format: str, *args: object) -> None:
            """Tests print nothing of their own."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings({"state_dir": tmp_path})


@asynccontextmanager
async def operator(host: BotHost) -> AsyncIterator[httpx.AsyncClient]:
    """A person's browser, after the operator's link."""
    address = host.site.address
    async with httpx.AsyncClient(base_url=address, headers={"origin": address.rstrip("/")}, trust_env=False) as client:
        assert (await client.post(host.site.operator_link)).status_code == 303
        yield client


async def allow(client: httpx.AsyncClient, decision: str) -> None:
    """Answer the one question that waits, as soon as it does."""
    while not (found := re.search(r'action="(/approvals/\d+/)once"', (await client.get("/?still")).text)):
        pass
    assert (await client.post(f"{found[1]}{decision}")).status_code == 303


async def test_a_person_allows_takes_over_and_lets_go(settings: Settings, address: str) -> None:
    links: list[tuple[str, str]] = []
    async with bot_host(settings, HostOptions(tell=lambda bot, link: links.append((bot, link)))) as host:
        with pytest.raises(NotAuthorized):
            host.enter(ADA, "first")
        host.provider.set_access("ada", True)
        session = host.enter(ADA, "first")
        opening = asyncio.create_task(session.call("open", {"url": address}))
        async with operator(host) as client:
            await allow(client, "once")
            assert (await opening).text == f'Opened "{address}".'
            answer = await session.call("takeover", {"action": "request"})
            assert answer.text == "A person was asked to take over, and has not done so yet."
            ((bot, link),) = links
            assert (bot, link.startswith(f"{host.site.address}takeover/")) == ("ada", True)
            waiting = asyncio.create_task(session.call("takeover", {"action": "await"}))
            assert (await client.post(link)).status_code == 303
            waited = asyncio.create_task(session.call("screenshot", {}))
            assert (await client.post("/bot/resume")).status_code == 200
        assert (await waiting).text == "The person has let go; observe before you act."
        assert (await waited).outcome in ("ok", "paused", "resumed_since")
        assert (await session.call("press_key", {"key": "Tab"})).outcome == "resumed_since"
        assert "Visit 1" in (await session.call("observe", {})).text
        assert (await session.call("press_key", {"key": "Tab"})).text == "Pressed."
    recorded = read_audit(settings.state_dir, last=100)
    assert recorded is not None
    assert [(row.session, row.tool, row.summary) for row in recorded.rows if row.tool != "screenshot"] == [
        ("first", "open", address),
        ("first", "takeover", "request, default"),
        ("first", "takeover", "await, default"),
        ("first", "press_key", "Tab"),
        ("first", "observe", ""),
        ("first", "press_key", "Tab"),
    ]


async def test_what_a_page_stores_and_the_flag_outlive_the_host(settings: Settings, address: str) -> None:
    shown = []
    for number in (1, 2):
        async with bot_host(settings, HostOptions(tell=lambda _bot, _link: None)) as host:
            if number == 1:
                host.provider.set_access("ada", True)
            session = host.enter(ADA, f"session-{number}")
            opening = asyncio.create_task(session.call("open", {"url": address}))
            async with operator(host) as client:
                await allow(client, "always")
                await opening
                shown.append(re.findall(r"Visit \d", (await session.call("observe", {})).text))
                if number == 2:
                    await host.provider.stop("work")  # which ends the rule too
                    asked = asyncio.create_task(host.enter(ADA, "session-3").call("open", {"url": address}))
                    await allow(client, "deny")
                    assert (await asked).outcome == "not_authorized"
    assert shown == [["Visit 1"], ["Visit 2"]]


async def test_the_bot_of_the_readme(address: str, tmp_path: Path) -> None:
    readme = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    (tmp_path / "bot.py").write_text(example.replace("http://example.com/", address), encoding="utf-8")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "bot.py",
        cwd=tmp_path,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    link = (await process.stdout.readline()).decode().split()[-1]
    address_of_pages = link.split("operator/")[0]
    origin = {"origin": address_of_pages.rstrip("/")}
    async with httpx.AsyncClient(base_url=address_of_pages, headers=origin, trust_env=False) as client:
        assert (await client.post(link)).status_code == 303
        await allow(client, "once")
    said, errors = await process.communicate(b"\n")
    lines = said.decode().splitlines()
    assert lines[-1] == "Press Enter to end: "
    assert (lines[:3], process.returncode, errors) == (
        [f'Opened "{address}".', f"URL: {address}", "Title: Visits"],
        0,
        b"",
    )


async def test_a_session_is_one_bots_and_a_choice_must_fit(settings: Settings) -> None:
    async with bot_host(settings, HostOptions(formatter="structured", tell=lambda _bot, _link: None)) as host:
        for bot in ("ada", "eve"):
            host.provider.set_access(bot, True)
        host.enter(ADA, "first")
        for other, session, said in (
            (Bot(name="eve", profile="work"), "first", 'the session "first" is another bot\'s; take another name'),
            (Bot(name="ada", profile="other"), "second", 'the bot "ada" keeps the profile "work" until the host ends'),
        ):
            with pytest.raises(UsageError) as refused:
                host.enter(other, session)
            assert refused.value.message == said
        no_tree = "the driver agent-browser has no tree for the formatter structured; take conservative"
        for choice, said in (
            (Choice(drivers={"local": "agent-browser"}), no_tree),
            (Choice(drivers={"local": "other"}), 'no driver is called "other"; there are agent-browser, current, fake'),
            (Choice(target="moon"), 'no target is called "moon"; there are local, fake'),
        ):
            with pytest.raises(UsageError) as refused:
                await host.switch(choice)
            assert refused.value.message == said
        assert host.provider.authority.choice == Choice()
        host.provider.unregister("first")
        host.enter(Bot(name="eve", profile="work"), "first")
