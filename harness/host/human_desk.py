"""What the person's pages are about: the questions that wait, the bots as they are now, and what a button does."""

import asyncio
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.host.approvals import ApprovalRequest
from harness.host.grants import Decision
from harness.host.human_pages import Access, BotView
from harness.host.provider import Provider
from harness.host.scope import Bot
from harness.host.takeover import Takeovers
from observe.errors import CleanupRequired, NotAuthorized, Stopped

MAX_QUESTIONS = 100
"""Questions that wait at once; a person could not answer more, and the page could not show them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One approval that waits for its answer."""

    number: str
    request: ApprovalRequest
    answer: "asyncio.Future[Decision]" = field(repr=False)


class HumanApprover:
    """Asks the person at the host's pages."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._open: dict[str, Question] = {}

    async def ask(self, request: ApprovalRequest) -> Decision:
        """The person's answer; a question that is cancelled is not shown any more.

        Raises:
            NotAuthorized: too many wait.
        """
        if len(self._open) >= MAX_QUESTIONS:
            raise NotAuthorized("Too many sessions wait for a person's answer; try again later.")
        answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        question = Question(number=str(next(self._numbers)), request=request, answer=answer)
        self._open[question.number] = question
        try:
            return await answer
        finally:
            self._open.pop(question.number, None)

    def waiting(self) -> tuple[Question, ...]:
        """The questions that nobody has answered, oldest first."""
        return tuple(one for one in self._open.values() if not one.answer.done())

    def answer(self, number: str, decision: Decision) -> bool:
        """Answer a question; False: it does not wait any more."""
        question = self._open.pop(number, None)
        if question is None or question.answer.done():
            return False
        question.answer.set_result(decision)
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What the pages are about, and what their buttons do."""

    provider: Provider[Any]
    takeovers: Takeovers
    approver: HumanApprover
    bots: Callable[[], Sequence[Bot]]

    def is_used(self, bot: Bot) -> bool:
        """Whether the bot has registered once; before that there is nothing to pause."""
        return bot.name in self.provider.authority.bots(bot.profile)

    def access(self, bot: Bot) -> Access:
        """Whether any session of the bot may use the browser now."""
        authority = self.provider.authority
        if not self.is_used(bot):
            return "unused"
        live = [authority.grants.live(session) for session in authority.grants.sessions(bot.name)]
        found = {authority.grants.status(one.session, authority.scope(one)) for one in live if one is not None}
        for status in ("granted", "unasked", "denied"):
            if status in found:
                return status
        return "stopped" if authority.grants.latest_end(bot.name) is Stopped else "ended"

    def resume(self, bot: str) -> None:
        """Let the bot go on; a person who had taken it over has let go."""
        self.provider.resume(bot)
        self.takeovers.release(bot)

    def let_go(self, bot: str) -> None:
        """The person who had taken the bot over is done. A pause that was there before stays: it is the operator's."""
        if self.takeovers.was_paused(bot):
            self.takeovers.release(bot)
        else:
            self.resume(bot)

    async def stop(self, profile: str, kept: str | None = None) -> bool:
        """Stop the profile, whose links are dead from now on; whether all of its browser is gone.

        Where it is not, the takeover of the bot `kept` goes on, so that its person can stop again.
        """
        for name in self.provider.authority.bots(profile):
            if name != kept:
                self.takeovers.end(name)
        try:
            with self.takeovers.keeping(kept):
                await self.provider.stop(profile)
        except CleanupRequired:
            return False
        if kept is not None:
            self.takeovers.end(kept)
        return True

    def view(self, bot: Bot) -> BotView:
        """The bot as it is now."""
        used = self.is_used(bot)
        return BotView(
            bot=bot,
            access=self.access(bot),
            paused=used and self.provider.authority.control(bot.name).paused,
            cleanup_required=self.provider.cleanup_required(bot.profile),
            takeover=self.takeovers.status(bot.name),
        )
