"""A bot's end of the provider: one call in, one answer out, whatever happens."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from harness.errors import AxtrialError
from harness.host.calls import BadCall, CallTimes
from harness.host.provider import Provider
from harness.tools.answer import Answer, answer_to
from observe.errors import ObservationError


@dataclass(slots=True)
class BotSession:
    """The calls of one registered session. `times` are those of the latest call."""

    provider: Provider[Answer]
    session: str
    times: CallTimes = field(default_factory=CallTimes)

    async def call(self, tool: str, arguments: Mapping[str, JsonValue]) -> Answer:
        """Carry out one call. Never raises for what a page, a bot, a driver, a target or a person does."""
        self.times = CallTimes()
        try:
            return await self.provider.call(self.session, tool, arguments, self.times)
        except (ObservationError, BadCall, AxtrialError) as error:
            return answer_to(error)
