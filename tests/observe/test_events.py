"""The ring buffers of a page: bounded, the oldest dropped and counted."""

from observe.events import MAX_ENTRIES, NetworkEntry, Ring, Taken, bounded_text


def test_the_oldest_entries_are_dropped_and_counted_until_a_read_clears() -> None:
    ring: Ring[int] = Ring(3)
    for number in range(5):
        ring.add(number)

    assert ring.take(clear=False) == Taken(entries=(2, 3, 4), dropped=2)
    assert ring.take(clear=True) == Taken(entries=(2, 3, 4), dropped=2)
    assert ring.take(clear=True) == Taken(entries=(), dropped=0)


def test_what_is_still_to_be_filled_in_stays() -> None:
    ring: Ring[NetworkEntry] = Ring()
    ended = NetworkEntry(method="GET", url="a", request_headers={}, ended=True)
    running = NetworkEntry(method="GET", url="b", request_headers={})
    ring.add(running)
    ring.add(ended)

    first = ring.take(clear=True, stays=lambda entry: not entry.ended)
    running.ended = True
    second = ring.take(clear=True, stays=lambda entry: not entry.ended)
    third = ring.take(clear=True, stays=lambda entry: not entry.ended)
    assert (first.entries, second.entries, third.entries) == ((running, ended), (running,), ())


def test_a_page_has_room_for_a_thousand() -> None:
    ring: Ring[int] = Ring()
    for number in range(MAX_ENTRIES + 1):
        ring.add(number)
    taken = ring.take(clear=True)
    assert (len(taken.entries), taken.entries[0], taken.dropped) == (1_000, 1, 1)


def test_long_texts_are_cut_with_a_mark() -> None:
    assert bounded_text("x" * 10, 10) == "x" * 10
    assert bounded_text("x" * 11, 10) == "x" * 10 + "[cut: 10 of 11 characters]"
