"""Runs in BrowserGym's own environment: loads pages and gives its text of them, one JSON object a line over stdio.

The text is `flatten_axtree_to_str` of the observation's tree. The environment's observation is taken without the half
second that a step waits first. Its chat window, a second browser, takes no path of a browser: it is given the same one.
"""

import functools
import json
import sys
import time
from typing import Any

import browsergym.core  # type: ignore[import-not-found]
import gymnasium  # type: ignore[import-not-found]
from browsergym.utils.obs import flatten_axtree_to_str  # type: ignore[import-not-found]


def main(chrome: str) -> None:
    """Answers one request after another until stdin ends."""
    on_chrome(chrome)
    environment = gymnasium.make(
        "browsergym/openended",
        task_kwargs={"start_url": "about:blank"},
        headless=True,
        disable_env_checker=True,
    )
    environment.reset()
    browser = environment.unwrapped
    answer({"ready": True})
    try:
        for line in sys.stdin:
            asked = json.loads(line)
            if "load" in asked:
                browser.page.goto(asked["load"], timeout=120_000)
                answer({"loaded": True})
            else:
                start = time.perf_counter()
                text = flatten_axtree_to_str(browser._get_obs()["axtree_object"])
                answer({"ms": (time.perf_counter() - start) * 1000, "text": text})
    finally:
        environment.close()


def on_chrome(chrome: str) -> None:
    """Have every browser that is started from now on be the one at that path."""
    chromium = browsergym.core._get_global_playwright().chromium
    chromium.launch = functools.partial(chromium.launch, executable_path=chrome)


def answer(what: dict[str, Any]) -> None:
    """One line to the benchmark."""
    OUT.write(json.dumps(what) + "\n")
    OUT.flush()


OUT = sys.stdout
if __name__ == "__main__":
    sys.stdout = sys.stderr  # whatever the library prints is not for the benchmark
    main(sys.argv[1])
