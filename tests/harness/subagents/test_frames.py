"""Bytes and messages, whole and broken: no crash, no hang, no growth, and what was written is read again."""

import json
import tracemalloc
from collections.abc import Callable, Iterator

import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue, ValidationError

from harness.subagents.frames import (
    MAX_BODY_BYTES,
    PREFIX_BYTES,
    FrameDecoder,
    FrameError,
    FrameTooLarge,
    FrameUnwritable,
    encode,
)
from harness.subagents.messages import FROM_CHILD, TO_CHILD, BrowserRequest, BrowserResult, Call, Hello

Object = dict[str, JsonValue]

numbers = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
values: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | numbers | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=4,
)
objects: st.SearchStrategy[Object] = st.dictionaries(st.text(), values, max_size=5)
fuzz = settings(deadline=None, max_examples=60)
soak = settings(deadline=None, max_examples=30_000, suppress_health_check=list(HealthCheck))
MAX_GROWTH_BYTES = 50_000_000
TOKEN, OWNER = "t" * 64, "child-1"


def cut(data: bytes, sizes: list[int]) -> Iterator[bytes]:
    """The bytes in pieces of these sizes, over and over."""
    at, number = 0, 0
    while at < len(data):
        yield data[at : at + sizes[number % len(sizes)]]
        at += sizes[number % len(sizes)]
        number += 1


@fuzz
@given(st.lists(objects, max_size=5), st.lists(st.integers(1, 40), min_size=1, max_size=5))
def test_what_was_written_is_read_however_it_is_cut(messages: list[Object], sizes: list[int]) -> None:
    decoder = FrameDecoder()
    read = [one for piece in cut(b"".join(map(encode, messages)), sizes) for one in decoder.feed(piece)]
    assert (json.loads(json.dumps(read)), decoder.begun) == (json.loads(json.dumps(messages)), False)


@fuzz
@given(st.lists(st.binary(max_size=300), max_size=20))
def test_any_bytes_are_read_or_refused(pieces: list[bytes]) -> None:
    decoder = FrameDecoder()
    try:
        for piece in pieces:
            for message in decoder.feed(piece):
                assert isinstance(message, dict)
    except FrameError:
        pass


@fuzz
@given(st.binary(min_size=1, max_size=200))
def test_any_body_is_read_or_refused(body: bytes) -> None:
    frame = len(body).to_bytes(PREFIX_BYTES, "big") + body
    try:
        (message,) = FrameDecoder().feed(frame)
    except FrameError:
        return
    assert isinstance(message, dict)


@pytest.mark.parametrize("size", [0, MAX_BODY_BYTES + 1, 2**31, 2**32 - 1])
def test_a_length_out_of_bounds_is_refused_before_its_body_comes(size: int) -> None:
    with pytest.raises(FrameError, match=f"^a frame of {size} bytes; 1 to 262144 are allowed$"):
        next(FrameDecoder().feed(size.to_bytes(PREFIX_BYTES, "big")))


@pytest.mark.parametrize(
    "body", [b"[]", b"1", b"null", b'"x"', b"{", b"\xff\xfe", b'{"a":NaN}', b'{"a":"\\ud800"}', b"[" * 100_000]
)
def test_a_body_that_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(FrameError):
        next(FrameDecoder().feed(len(body).to_bytes(PREFIX_BYTES, "big") + body))


def test_what_does_not_fit_is_not_written() -> None:
    fits = {"x": "y" * (MAX_BODY_BYTES - len('{"x":""}'))}
    assert len(encode(fits)) == PREFIX_BYTES + MAX_BODY_BYTES
    with pytest.raises(FrameTooLarge, match=r"^it has 262145 bytes, and at most 262144 fit$"):
        encode({"x": fits["x"] + "y"})
    for unwritable in ("\ud800", 2**70):
        with pytest.raises(FrameUnwritable):
            encode({"x": unwritable})


def test_a_decoder_holds_one_frame_at_most() -> None:
    decoder, frame = FrameDecoder(), encode({"x": "y" * 50_000})
    tracemalloc.start()
    try:
        for _ in range(400):  # 20 MB in all
            for piece in cut(frame, [7_001]):
                list(decoder.feed(piece))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (decoder.begun, most < 1_000_000) == (False, True)


near = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.sampled_from(["hello", "browser", "cancel", "report", "result", "ownership", "refused"]) | values,
        "token": st.just(TOKEN) | values,
        "owner": st.sampled_from([OWNER, "-x", "x" * 128, "x" * 129, "ä", "a\n", ""]) | values,
        "requestId": st.sampled_from(["1", " ", "a\0"]) | values,
        "payload": st.fixed_dictionaries({"tool": values, "params": values}) | values,
        "tool": values,
        "params": objects | values,
        "ok": values,
        "result": st.fixed_dictionaries({"text": values, "details": objects}) | values,
        "error": values,
        "more": values,
    },
)


@fuzz
@given(near | objects)
def test_any_message_is_understood_or_refused(message: Object) -> None:
    for read in (FROM_CHILD.validate_python, TO_CHILD.validate_python):
        try:
            understood = read(message)
        except ValidationError:
            continue
        assert read(understood.wire()) == understood
    for model in (BrowserRequest, BrowserResult):
        try:
            model.model_validate(message)
        except ValidationError:
            continue


@pytest.mark.soak
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize(
    "test",
    [
        test_what_was_written_is_read_however_it_is_cut,
        test_any_bytes_are_read_or_refused,
        test_any_body_is_read_or_refused,
        test_any_message_is_understood_or_refused,
    ],
)
def test_the_same_for_long_without_growth(test: Callable[[], None]) -> None:
    process = psutil.Process()
    test()
    before = process.memory_info().rss
    soak(test)()
    assert process.memory_info().rss - before < MAX_GROWTH_BYTES


@pytest.mark.parametrize("owner", ["", "-a", "_a", "a b", "ä", "a\n", "a\0", "x" * 129, 7, None, ["a"]])
def test_an_owner_on_the_socket_is_short_and_plain(owner: JsonValue) -> None:
    with pytest.raises(ValidationError):
        FROM_CHILD.validate_python({"kind": "hello", "token": TOKEN, "owner": owner})


def test_what_a_child_asks_for_names_no_owner() -> None:
    asked: Object = {"kind": "browser", "token": TOKEN, "owner": OWNER, "requestId": "1", "payload": {"tool": "t"}}
    assert isinstance(FROM_CHILD.validate_python(asked), Call)
    assert isinstance(FROM_CHILD.validate_python({"kind": "hello", "token": TOKEN, "owner": OWNER}), Hello)
    with pytest.raises(ValidationError):
        FROM_CHILD.validate_python({**asked, "payload": {"tool": "t", "owner": "child-2"}})
