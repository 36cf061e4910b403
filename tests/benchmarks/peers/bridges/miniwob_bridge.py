"""Runs in BrowserGym's own environment: plays episodes of MiniWoB with the policies, one JSON object a line over stdio.

Actions are those of BrowserGym's default set; elements are found by role and name in the observation's tree. The folder
of the policies has to be in PYTHONPATH. Modes: `default`; `eager`, without the waits of its default; `kept`, the same
with one page for all episodes, each of which loads its task in it, in place of a reset.
"""

import json
import sys
import time
from typing import Any

import browsergym.miniwob  # type: ignore[import-not-found]  # noqa: F401  # registers the tasks
import gymnasium  # type: ignore[import-not-found]
from browsergym_bridge import answer, on_chrome  # type: ignore[import-not-found]
from policies import POLICIES, Act  # type: ignore[import-not-found]

EAGER = {"slow_mo": 0, "pre_observation_delay": 0.0}


def main(chrome: str, mode: str) -> None:
    """Answers one episode after another until stdin ends."""
    on_chrome(chrome)
    options = {} if mode == "default" else EAGER
    environments = {
        task: gymnasium.make(f"browsergym/miniwob.{task}", headless=True, disable_env_checker=True, **options)
        for task in POLICIES
    }
    home = next(iter(environments.values()))
    if mode == "kept":
        home.reset(seed=0)
    answer({"ready": True})
    try:
        for line in sys.stdin:
            asked = json.loads(line)
            task, seed = asked["task"], asked["seed"]
            start = time.perf_counter()
            if mode == "kept":
                goal, reward = played(home, task, loaded(home, environments[task].unwrapped, seed))
            else:
                goal, reward = played(environments[task], task, environments[task].reset(seed=seed)[0])
                environments[task].close()
            answer({"ms": (time.perf_counter() - start) * 1000, "goal": goal, "reward": reward})
    finally:
        home.close()


def loaded(home: Any, other: Any, seed: int) -> "dict[str, Any]":
    """Have the page of `home` load the task of another environment; the first observation."""
    browser = home.unwrapped
    browser.task.teardown()
    browser.task = other.task_entrypoint(seed=seed, **other.task_kwargs)
    goal, _ = browser.task.setup(page=browser.page)
    browser.goal_object = [{"type": "text", "text": goal}]
    browser._wait_dom_loaded()
    seen: dict[str, Any] = browser._get_obs()
    return seen


def played(environment: Any, task: str, seen: "dict[str, Any]") -> "tuple[str, float]":
    """Act until the policy is through; the goal and the raw reward."""
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


if __name__ == "__main__":
    sys.stdout = sys.stderr  # whatever the library prints is not for the benchmark
    main(sys.argv[1], sys.argv[2])
