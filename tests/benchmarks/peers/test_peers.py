"""The pure parts of the comparison with peers: planting, counting, medians, order."""

import re

import pytest

from tests.benchmarks.peers.figures import Lead, Sample, cell, lead, markdown
from tests.benchmarks.peers.measure import turned
from tests.benchmarks.peers.pages import pages, woven
from tests.benchmarks.peers.planted import CHECKED, NEAR, PLANTED, Fact, chosen, kept, made_words


@pytest.mark.parametrize("name", list(pages()))
def test_every_page_has_all_facts_once(name: str) -> None:
    page = pages()[name]
    words = {fact.word for fact in page.facts}
    assert (len(page.facts), len(page.near)) == (PLANTED, NEAR)
    assert {word: len(re.findall(rf"\b{word}\b", page.html)) for word in words} == dict.fromkeys(words, 1)


@pytest.mark.parametrize(("name", "least", "most"), [("20", 20, 30), ("500", 490, 520), ("20000", 19_900, 20_100)])
def test_pages_have_as_many_elements_as_they_say(name: str, least: int, most: int) -> None:
    body = pages()[name].html.partition("<main>")[2]
    assert least <= len(re.findall(r"<[a-z]", body)) <= most


def test_the_form_has_60_fields() -> None:
    assert len(re.findall("<(?:input|select|textarea)", pages()["form"].html)) == 60


def test_made_words_are_no_parts_of_each_other() -> None:
    words = list(made_words())
    assert len(set(words)) == len(words)
    assert {len(word) for word in words} == {9}


@pytest.mark.parametrize(
    ("text", "fact", "found"),
    [
        ("button Bravelzom", Fact(word="Bravelzom"), 1),
        ("button Bravelzomx", Fact(word="Bravelzom"), 0),
        ("checkbox Bravelzom checked", Fact(word="Bravelzom", beside=CHECKED), 1),
        ("checkbox Bravelzom [checked=false]", Fact(word="Bravelzom", beside=CHECKED), 0),
        ("checkbox Bravelzom, checked='false'", Fact(word="Bravelzom", beside=CHECKED), 0),
        ("<input type=checkbox checked=true />\n Bravelzom", Fact(word="Bravelzom", beside=CHECKED), 1),
        ("checked\n\nBravelzom", Fact(word="Bravelzom", beside=CHECKED), 0),
        ('combobox "Field": Bravelzom', Fact(word="Bravelzom", beside=chosen("Bravelzom")), 1),
        ("combobox Field value='Bravelzom'", Fact(word="Bravelzom", beside=chosen("Bravelzom")), 1),
        ("combobox Field, options=one|Bravelzom|two", Fact(word="Bravelzom", beside=chosen("Bravelzom")), 0),
        ('option "Bravelzom" [selected]', Fact(word="Bravelzom", beside=chosen("Bravelzom")), 1),
        ("option Bravelzom selected=False", Fact(word="Bravelzom", beside=chosen("Bravelzom")), 0),
    ],
)
def test_kept_wants_the_word_and_its_state(text: str, fact: Fact, found: int) -> None:
    assert kept(text, [fact]) == found


def test_woven_puts_near_ones_first_and_far_ones_to_the_end() -> None:
    assert woven(list("abcdefgh"), ["1", "2"], ["3", "4"]) == [
        *("1", "a", "b", "2", "c", "d", "e", "f", "3", "g", "h", "4")
    ]
    assert woven([], ["1", "2"], ["3"]) == ["1", "2", "3"]


def sample(first: float, again: float, kept_facts: int) -> Sample:
    return Sample(first_ms=first, again_ms=again, chars=10, tokens=None, kept=kept_facts, kept_near=1)


def test_cell_has_medians_and_the_least_facts() -> None:
    made = cell("20", "one", [sample(3, 9, 5), sample(1, 7, 4), sample(2, 8, 5)], None)
    assert (made.rounds, made.first_ms, made.again_ms, made.chars, made.tokens) == (3, 2, 8, 10, None)
    assert (made.kept, made.kept_near) == (4, 1)
    empty = cell("20", "one", [], "broke")
    assert (empty.rounds, empty.first_ms, empty.kept, empty.fault) == (0, None, None, "broke")


def test_lead_takes_the_fastest_peer_of_each_kind() -> None:
    cells = [
        cell("20", "mine", [sample(2, 4, 1)], None),
        cell("20", "one", [sample(10, 30, 1)], None),
        cell("20", "two", [sample(20, 12, 1)], None),
    ]
    assert lead("20", cells, "mine", ["one", "two", "three"]) == Lead(
        page="20", peer_first="one", first=5.0, peer_again="two", again=3.0
    )
    assert lead("500", cells, "mine", ["one"]) == Lead(
        page="500", peer_first=None, first=None, peer_again=None, again=None
    )


def test_turned_starts_from_another_name_in_each_round() -> None:
    assert [turned(["a", "b", "c"], number) for number in range(4)] == [
        ["a", "b", "c"],
        ["b", "c", "a"],
        ["c", "a", "b"],
        ["a", "b", "c"],
    ]


def test_markdown_is_a_table() -> None:
    assert markdown(("a", "b", "c"), [("1", "2", "3")]) == "| a | b | c |\n| --- | --- | ---: |\n| 1 | 2 | 3 |"
