"""Which owner has which tabs. An owner sees and touches its own alone; nobody falls back to a neighbour's.

One registry and one kind of key for all who own pages: a PersonaBot with its tabs, and an agent or its children with a
page each (harness/host/pages.py). No waiting here, and no idea of what a tab is: any object, under an id of its own.
"""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from harness.errors import UsageError, quoted
from observe.errors import PageGone, TabLimit

T = TypeVar("T")

Admit = Callable[[str, Mapping[str, int]], None]
"""Asked before an owner gets a further tab, with the number of tabs that each owner has. Raises what refuses it."""

NOT_OWN = "You have no tab of this id."
NO_CURRENT = "No tab is selected; open an address, or select one of your tabs."

MAX_OWNER_CHARS = 256
"""Code points of an owner's key: it stands in messages, records and sentences."""

PARENT = "parent"
"""The owner whose children the others are."""

MAX_CHILDREN = 3
"""Owners beside the parent that have a page at a time (ADR-0031); each takes a process of Chrome's."""

MAX_TABS = 20
"""Tabs of one bot at a time; each takes a process of its own, and some 100 MB."""


class OwnerWrong(UsageError):
    """A text cannot be the key of an owner."""


def owner_key(text: str) -> str:
    """The text as the key of an owner, without blanks around it.

    Raises:
        OwnerWrong: nothing is left, it is longer than MAX_OWNER_CHARS, or it holds a NUL.
    """
    key = text.strip()
    if not key or len(key) > MAX_OWNER_CHARS or "\0" in key:
        raise OwnerWrong(f"the owner {quoted(text)} is not usable; take 1 to {MAX_OWNER_CHARS} characters, no NUL")
    return key


def parent_and_children(owner: str, counts: Mapping[str, int]) -> None:
    """One page for each owner: the parent's place is kept, and MAX_CHILDREN others have one beside it.

    Raises:
        TabLimit: all places of children are taken.
    """
    children = sum(one != PARENT for one in counts)
    if owner != PARENT and owner not in counts and children >= MAX_CHILDREN:
        raise TabLimit(
            f"{MAX_CHILDREN} pages of subagents are open beside the parent's ({MAX_CHILDREN + 1} in all), and no more "
            "are allowed; one of them must be closed first."
        )


def few_each(owner: str, counts: Mapping[str, int]) -> None:
    """At most MAX_TABS for each owner.

    Raises:
        TabLimit: the owner has them.
    """
    if counts.get(owner, 0) >= MAX_TABS:
        raise TabLimit(f"You have {MAX_TABS} tabs, and no more are allowed; close one first.")


def anyone(_owner: str, _counts: Mapping[str, int]) -> None:
    """No cap."""


class Owners(Generic[T]):
    """Tabs by owner and id, in the order in which they were added, and each owner's current one."""

    def __init__(self, admit: Admit = anyone) -> None:
        self._admit = admit
        self._tabs: dict[str, dict[str, T]] = {}
        self._current: dict[str, str] = {}

    def admit(self, owner: str) -> None:
        """Ask whether the owner may have one more tab, before it is made.

        Raises:
            Whatever the cap raises.
        """
        self._admit(owner, {one: len(tabs) for one, tabs in self._tabs.items()})

    def add(self, owner: str, tab_id: str, tab: T) -> None:
        """Give the owner a tab, which becomes its current one."""
        self._tabs.setdefault(owner, {})[tab_id] = tab
        self._current[owner] = tab_id

    def owners(self) -> tuple[str, ...]:
        """All who have tabs."""
        return tuple(self._tabs)

    def tabs(self, owner: str) -> Mapping[str, T]:
        """The owner's tabs by id."""
        return dict(self._tabs.get(owner, {}))

    def current_id(self, owner: str) -> str | None:
        """The id of the owner's current tab."""
        return self._current.get(owner)

    def current(self, owner: str) -> T:
        """The owner's current tab.

        Raises:
            PageGone: it has none; a tab that was lost is not replaced by another one.
        """
        if (tab_id := self._current.get(owner)) is None:
            raise PageGone(NO_CURRENT)
        return self._tabs[owner][tab_id]

    def own(self, owner: str, tab_id: str) -> T:
        """One of the owner's tabs.

        Raises:
            PageGone: it has none of this id, whether anybody else has or not.
        """
        try:
            return self._tabs[owner][tab_id]
        except KeyError as error:
            raise PageGone(NOT_OWN) from error

    def select(self, owner: str, tab_id: str) -> T:
        """Make one of the owner's tabs its current one.

        Raises:
            PageGone: as `own`.
        """
        tab = self.own(owner, tab_id)
        self._current[owner] = tab_id
        return tab

    def discard(self, owner: str, tab: T) -> None:
        """Take this very tab away, if the owner still has it."""
        tabs = self._tabs.get(owner, {})
        for tab_id in [one for one, held in tabs.items() if held is tab]:
            del tabs[tab_id]
            if self._current.get(owner) == tab_id:
                del self._current[owner]
        if not tabs:
            self._tabs.pop(owner, None)

    def drop(self, owner: str) -> tuple[T, ...]:
        """Take all tabs of an owner away; they are given back to be closed."""
        self._current.pop(owner, None)
        return tuple(self._tabs.pop(owner, {}).values())
