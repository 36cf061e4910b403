from collections.abc import Mapping

import pytest

from harness.host.authority import Authority, Surroundings
from harness.host.owners import MAX_OWNER_CHARS, PARENT, Owners, OwnerWrong, owner_key, parent_and_children
from harness.host.scope import Bot, Choice
from observe.errors import PageGone, TabLimit


def test_each_owner_has_its_own_tabs() -> None:
    owners: Owners[str] = Owners()
    owners.add("ada", "1", "first")
    owners.add("ada", "2", "second")
    owners.add("bob", "1", "of bob")

    assert owners.tabs("ada") == {"1": "first", "2": "second"}
    assert (owners.current_id("ada"), owners.current("ada")) == ("2", "second")
    assert owners.select("ada", "1") == "first"
    assert owners.current("ada") == "first"
    assert owners.current("bob") == "of bob"
    assert owners.tabs("eve") == {}
    assert owners.owners() == ("ada", "bob")


@pytest.mark.parametrize("tab_id", ["2", "nowhere"])
def test_what_is_not_own_is_refused_alike(tab_id: str) -> None:
    owners: Owners[str] = Owners()
    owners.add("ada", "1", "hers")
    owners.add("bob", "2", "his")

    for attempt in (owners.own, owners.select):
        with pytest.raises(PageGone, match=r"^You have no tab of this id\.$"):
            attempt("ada", tab_id)
    assert owners.current("ada") == "hers"


def test_a_lost_tab_is_not_replaced_by_a_neighbour() -> None:
    owners: Owners[str] = Owners()
    owners.add("ada", "1", "first")
    owners.add("ada", "2", "second")

    owners.discard("ada", "second")
    owners.discard("ada", "never there")

    assert (owners.tabs("ada"), owners.current_id("ada")) == ({"1": "first"}, None)
    with pytest.raises(PageGone):
        owners.current("ada")
    owners.discard("ada", "first")
    assert owners.owners() == ()


def test_an_owner_is_dropped_whole() -> None:
    owners: Owners[str] = Owners()
    owners.add("ada", "1", "first")
    owners.add("ada", "2", "second")

    assert owners.drop("ada") == ("first", "second")
    assert owners.drop("ada") == ()
    assert owners.current_id("ada") is None


def test_a_cap_is_asked_with_all_counts() -> None:
    asked: list[tuple[str, Mapping[str, int]]] = []

    def cap(owner: str, counts: Mapping[str, int]) -> None:
        asked.append((owner, counts))
        if sum(counts.values()) >= 2:
            raise LookupError(owner)

    owners: Owners[str] = Owners(cap)
    owners.admit("ada")
    owners.add("ada", "1", "first")
    owners.admit("bob")
    owners.add("bob", "1", "his")
    with pytest.raises(LookupError):
        owners.admit("eve")

    assert asked == [("ada", {}), ("bob", {"ada": 1}), ("eve", {"ada": 1, "bob": 1})]


def test_the_parents_place_is_kept_and_three_children_have_one() -> None:
    owners: Owners[str] = Owners(parent_and_children)
    for owner in ("a", "b", "c"):
        owners.admit(owner)
        owners.add(owner, "page", owner)
    with pytest.raises(TabLimit, match=r"^3 pages of subagents are open beside the parent's \(4 in all\), "):
        owners.admit("d")
    owners.admit(PARENT)
    owners.add(PARENT, "page", PARENT)
    owners.drop("b")
    owners.admit("d")


def test_the_key_of_an_owner_is_a_short_text() -> None:
    assert [owner_key(" ada\n"), owner_key("x" * MAX_OWNER_CHARS)] == ["ada", "x" * MAX_OWNER_CHARS]
    for wrong in ("", " ", "a\0", "x" * (MAX_OWNER_CHARS + 1)):
        with pytest.raises(OwnerWrong):
            owner_key(wrong)


@pytest.mark.parametrize("name", ["", " ada", "a\0b"])
def test_a_bot_is_an_owner_like_any_other(name: str) -> None:
    authority = Authority(Choice(), Surroundings(access={name: True}))
    with pytest.raises(OwnerWrong):
        authority.register(Bot(name=name, profile="P"), "session")
