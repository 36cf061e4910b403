"""What an authorization is for: frozen data, always compared as a whole.

A runtime key names one browser: another target, driver or profile is another browser. An approval scope also holds the
revision of the choice and the live registration, so that an old answer never fits what took the place of either.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

DEFAULT_TARGET = "local"
DEFAULT_DRIVER = "current"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bot:
    """A PersonaBot. Several may share a profile, and so its cookies; each still sees only its own tabs."""

    name: str
    profile: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeKey:
    """One browser."""

    target: str
    driver: str
    profile: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Where browsers run, and by which driver for each target. Volatile: a restart is back at the defaults."""

    target: str = DEFAULT_TARGET
    drivers: Mapping[str, str] = field(default_factory=dict)

    def key(self, profile: str) -> RuntimeKey:
        """The browser that this choice means for a profile."""
        driver = self.drivers.get(self.target, DEFAULT_DRIVER)
        return RuntimeKey(target=self.target, driver=driver, profile=profile)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalScope:
    """What one approval covers. `revision` counts the changes of the choice, `registration` is a live one's number."""

    key: RuntimeKey
    revision: int
    registration: int
