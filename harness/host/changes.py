"""What ends browsers: stop, switch, idleness, loss. Authority goes first and at once; then the cleanup is awaited."""

import asyncio
from collections.abc import Awaitable, Iterable
from contextlib import suppress

from harness.host.authority import Authority
from harness.host.grants import Reason
from harness.host.owners import Owners
from harness.host.runtime import Runtime, Slots
from harness.host.scope import Bot, Choice
from harness.host.tabs import OwnedTab, close_page
from observe.errors import CleanupRequired, NotAuthorized, Revoked, Stopped

IDLE_TICK_S = 30.0
IDLE_LIMIT_S = 30 * 60.0
"""Seconds without a call after which a bot's tabs, or a profile's browser, are closed."""


class Changes:
    """The changes over one authority and its slots."""

    def __init__(self, authority: Authority, owners: Owners[OwnedTab], slots: Slots, idle_limit_s: float) -> None:
        self._authority = authority
        self._owners = owners
        self._slots = slots
        self._idle_limit_s = idle_limit_s
        self._waiting: dict[str, Bot] = {}  # sessions that a switch ended, to be registered again

    def forget(self, session: str) -> None:
        """The session is over: no switch registers it again."""
        self._waiting.pop(session, None)

    def forget_bot(self, bot: str) -> None:
        """The same for all sessions of the bot."""
        self._waiting = {session: one for session, one in self._waiting.items() if one.name != bot}

    async def stop(self, profile: str) -> None:
        """End every registration and grant on the profile, then its browser; also how a failed cleanup is retried.

        Raises:
            CleanupRequired: the browser could not be ended; stop again.
        """
        self._end_profile(profile, Stopped)
        await self._slots.of(profile).dispose()

    async def switch(self, choice: Choice) -> None:
        """Choose another target or driver. What was registered is registered again, without its grants.

        Raises:
            CleanupRequired: a browser could not be ended; its profile stays blocked, its sessions unregistered.
        """
        if choice == self._authority.choice:
            await self._unblock()
            return
        for registration in self._authority.choose(choice):
            self._waiting[registration.session] = self._authority.bot(registration.bot)
        for owner in self._owners.owners():
            self._owners.drop(owner)
        revision = self._authority.revision
        done = await asyncio.gather(*(self._ended(profile) for profile in self._slots.profiles()))
        if revision == self._authority.revision:  # else a later switch waits for the same
            self._register_again()
        if not all(done):
            raise CleanupRequired("A browser of the former choice could not be ended; a person must use Stop.")

    async def _unblock(self) -> None:
        """The same choice again, after a switch to it that failed: what that one left is tried again."""
        blocked = [profile for profile in self._slots.profiles() if self._slots.of(profile).blocked]
        done = await asyncio.gather(*(self._ended(profile) for profile in blocked))
        self._register_again()
        if not all(done):
            raise CleanupRequired("A browser of the former choice could not be ended; a person must use Stop.")

    async def idle_tick(self) -> None:
        """Close the tabs of idle bots and end idle browsers; try again where an earlier cleanup failed.

        Raises:
            ExceptionGroup: faults of the host, after all profiles were looked after.
        """
        await _all(self._tick(profile) for profile in self._slots.profiles())

    async def lost(self, profile: str, runtime: Runtime) -> None:
        """A browser ended by itself: its tabs are gone; the next one is started only when a bot opens an address.

        Raises:
            CleanupRequired: what is left of it could not be ended.
        """
        for bot in self._authority.bots(profile):
            for owned in self._owners.tabs(bot).values():
                if owned.runtime is runtime:
                    self._owners.discard(bot, owned)
        await self._slots.of(profile).lost(runtime)

    async def close(self) -> None:
        """Stop everything for good; a browser that cannot be ended is left to the next start's sweep.

        Raises:
            ExceptionGroup: faults of the host, after all browsers were ended that can be.
        """
        self._authority.close()
        self._waiting.clear()
        for owner in self._owners.owners():
            self._owners.drop(owner)
        await _all(self._ended(profile) for profile in self._slots.profiles())

    async def _tick(self, profile: str) -> None:
        slot = self._slots.of(profile)
        if slot.blocked:
            if await self._ended(profile):
                self._register_again()
            return
        bots = self._authority.bots(profile)
        idle = [bot for bot in bots if self._authority.is_idle(bot, self._idle_limit_s)]
        if slot.runtime is not None and len(idle) == len(bots):
            self._end_profile(profile, Revoked)
            await self._ended(profile)
            return
        tabs = [owned for bot in idle for owned in self._end_tabs(bot)]
        if tabs:

            async def close() -> None:
                await asyncio.gather(*(close_page(owned.page.inner) for owned in tabs))

            await slot.clean(close)

    def _end_tabs(self, bot: str) -> tuple[OwnedTab, ...]:
        tabs = self._owners.drop(bot)
        if tabs:
            self._authority.end_bot(bot, Revoked)
        return tabs

    def _end_profile(self, profile: str, reason: Reason) -> None:
        self._authority.end_profile(profile, reason)
        for bot in self._authority.bots(profile):
            self._owners.drop(bot)
            self.forget_bot(bot)

    async def _ended(self, profile: str) -> bool:
        try:
            await self._slots.of(profile).dispose()
        except CleanupRequired:
            return False
        return True

    def _register_again(self) -> None:
        for session, bot in tuple(self._waiting.items()):
            if not self._slots.of(bot.profile).blocked:
                del self._waiting[session]
                with suppress(NotAuthorized):  # its access was switched off meanwhile
                    self._authority.register(bot, session)


async def _all(work: Iterable[Awaitable[object]]) -> None:
    """Everything is done to its end, whatever fails; then the faults are raised."""
    ended = await asyncio.gather(*work, return_exceptions=True)
    if faults := [one for one in ended if isinstance(one, Exception)]:
        raise ExceptionGroup("browsers could not be looked after", faults)
