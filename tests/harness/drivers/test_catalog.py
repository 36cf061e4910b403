"""The drivers by name."""

import subprocess
import sys
from importlib import import_module

import pytest

from harness.config import Settings
from harness.drivers.catalog import DRIVERS, start_driver
from harness.errors import UsageError

WITHOUT_PLAYWRIGHT = """
import asyncio, sys
from harness.config import Settings
from harness.drivers.catalog import start_driver
async def main():
    async with start_driver("fake", Settings()) as host:
        print(host.name, "playwright" in sys.modules)
asyncio.run(main())
"""


@pytest.mark.parametrize("name", ["fake", pytest.param("current", marks=pytest.mark.browser)])
async def test_a_driver_is_started_by_its_name(name: str) -> None:
    async with start_driver(name, Settings()) as host:
        assert host.name == name


@pytest.mark.parametrize("name", sorted(DRIVERS))
def test_every_name_leads_to_a_start_function(name: str) -> None:
    module, _, function = DRIVERS[name].partition(":")
    assert callable(getattr(import_module(module), function))


def test_an_unknown_name() -> None:
    with pytest.raises(UsageError) as refused:
        start_driver("fakir\n", Settings())
    assert refused.value.message == 'There is no driver "fakir\\n"; the drivers are agent-browser, current, fake.'


def test_the_fake_needs_no_playwright() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_PLAYWRIGHT], capture_output=True, text=True, check=True, timeout=30
    )
    assert ended.stdout == "fake False\n"
