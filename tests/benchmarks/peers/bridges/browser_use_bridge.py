"""Runs in browser-use's own environment: loads pages and gives its text of them, one JSON object a line over stdio.

The text is what its agent puts into the prompt as the page: `llm_representation`, cut at the agent's default.
"""

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

from browser_use import BrowserProfile, BrowserSession  # type: ignore[import-not-found]

CUT = 40_000
"""Characters: the agent's default of `max_clickable_elements_length`."""


async def main(chrome: str, sandbox: bool, profile: str) -> None:
    """Answers one request after another until stdin ends."""
    session = BrowserSession(
        browser_profile=BrowserProfile(
            executable_path=chrome,
            headless=True,
            chromium_sandbox=sandbox,
            user_data_dir=str(Path(profile)),
            enable_default_extensions=False,
        )
    )
    await session.start()
    answer({"ready": True})
    try:
        while line := await asyncio.to_thread(sys.stdin.readline):
            asked = json.loads(line)
            if "load" in asked:
                await session.navigate_to(asked["load"])
                answer({"loaded": True})
            else:
                start = time.perf_counter()
                state = await session.get_browser_state_summary(include_screenshot=False)
                text = state.dom_state.llm_representation()[:CUT]
                answer({"ms": (time.perf_counter() - start) * 1000, "text": text})
    finally:
        await session.kill()


def answer(what: dict[str, Any]) -> None:
    """One line to the benchmark."""
    OUT.write(json.dumps(what) + "\n")
    OUT.flush()


OUT = sys.stdout
if __name__ == "__main__":
    sys.stdout = sys.stderr  # whatever the library prints is not for the benchmark
    asyncio.run(main(sys.argv[1], sys.argv[2] == "sandbox", sys.argv[3]))
