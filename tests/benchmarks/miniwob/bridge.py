"""Runs in BrowserGym's own environment: plays episodes of MiniWoB with the policies, one JSON object a line over stdio.

Actions are those of BrowserGym's default set; elements are found by role and name in the observation's tree.
"""

import functools
import json
import sys
import time
from typing import Any

import browsergym.core  # type: ignore[import-not-found]
import browsergym.miniwob  # type: ignore[import-not-found]
import gymnasium  # type: ignore[import-not-found]
from policies import POLICIES, Act  # type: ignore[import-not-found]


def main(chrome: str, waits: str) -> None:
    """Answers one episode after another until stdin ends."""
    chromium = browsergym.core._get_global_playwright().chromium
    chromium.launch = functools.partial(chromium.launch, executable_path=chrome)
    options = {} if waits == "default" else {"slow_mo": 0, "pre_observation_delay": 0.0}
    environments: dict[str, Any] = {}
    answer({"ready": True})
    try:
        for line in sys.stdin:
            asked = json.loads(line)
            task = asked["task"]
            if task not in environments:
                environments[task] = gymnasium.make(
                    f"browsergym/miniwob.{task}", headless=True, disable_env_checker=True, **options
                )
                environments[task].reset(seed=0)  # starts its browser, which is not an episode's time
            start = time.perf_counter()
            goal, reward = episode(environments[task], task, asked["seed"])
            answer({"ms": (time.perf_counter() - start) * 1000, "goal": goal, "reward": reward})
    finally:
        for environment in environments.values():
            environment.close()


def episode(environment: Any, task: str, seed: int) -> "tuple[str, float]":
    """Play one; its goal and raw reward."""
    seen, info = environment.reset(seed=seed)
    goal, reward = seen["goal"], 0.0
    for act in POLICIES[task](goal):
        bid = found(seen["axtree_object"]["nodes"], act)
        done = f"click('{bid}')" if act.text is None else f"fill('{bid}', {act.text!r})"
        seen, _, _, _, info = environment.step(done)
        reward = info["task_info"]["RAW_REWARD_GLOBAL"]
    return goal, reward


def found(nodes: "list[dict[str, Any]]", act: Act) -> str:
    """The id of the element that is meant."""
    of_role = [node for node in nodes if node["role"]["value"] == act.role and "browsergym_id" in node]
    if act.text is None:
        of_role = [node for node in of_role if node["name"]["value"].strip() == act.name]
    return str(of_role[act.number]["browsergym_id"])


def answer(what: dict[str, Any]) -> None:
    """One line to the benchmark."""
    OUT.write(json.dumps(what) + "\n")
    OUT.flush()


OUT = sys.stdout
if __name__ == "__main__":
    sys.stdout = sys.stderr  # whatever the library prints is not for the benchmark
    main(sys.argv[1], sys.argv[2])
