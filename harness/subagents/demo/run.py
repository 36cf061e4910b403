"""Runs the demo, and judges what each saw by what the app knows."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

from harness.errors import AxtrialError
from harness.host.owners import PARENT
from harness.subagents.demo.app import DemoApp
from harness.subagents.demo.child import LOAD_MS, MEMBER
from harness.subagents.frames import Object
from harness.subagents.launch import SubagentHost, python_program
from harness.tools.modes import Agent

CHILD_S = 150.0
"""Seconds for one child; it takes one or two where the machine is not busy."""

Kind = Literal["parent", "worker", "explorer"]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Called(_Strict):
    """One call of a tool. `ms` is what the caller waited, in milliseconds."""

    tool: str
    ok: bool
    ms: float
    text: str


class Seen(_Strict):
    """What one owner did and saw; `ok`: it is what the app has."""

    owner: str
    kind: Kind
    job: str
    ok: bool = False
    saw: list[str]
    calls: list[Called]


class _Report(_Strict):
    saw: list[str]
    calls: list[Called]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The whole demo. `seconds` is its wall time, `most_pages` the pages that were open at the same time."""

    seen: tuple[Seen, ...]
    most_pages: int
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether everybody saw what there is."""
        return all(one.ok for one in self.seen)


_CHILDREN: tuple[tuple[Literal["worker", "explorer"], str], ...] = (
    ("worker", "form"),
    ("explorer", "faults"),
    ("explorer", "picture"),
)


async def run_demo(host: SubagentHost, app: DemoApp) -> Shown:
    """Let a parent and three children verify the app at the same time.

    Raises:
        AxtrialError: a child cannot be started.
    """
    start = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        children = [group.create_task(_child(host, app, kind, job)) for kind, job in _CHILDREN]
        parent = group.create_task(_parent(host, app))
    seen = [_judged(one, app) for one in (parent.result(), *(child.result() for child in children))]
    return Shown(seen=tuple(seen), most_pages=host.pages.most, seconds=time.perf_counter() - start)


async def _parent(host: SubagentHost, app: DemoApp) -> Seen:
    calls = []
    todo: tuple[tuple[str, Object], ...] = (
        ("browser_goto", {"url": app.address, "timeout": LOAD_MS}),
        ("browser_eval", {"expression": "document.title"}),
    )
    for tool, params in todo:
        start = time.perf_counter()
        answer = await host.call(tool, params)
        said = answer.result.text if answer.result is not None else answer.error.message if answer.error else ""
        ms = round((time.perf_counter() - start) * 1000, 1)
        calls.append(Called(tool=tool, ok=answer.ok, ms=ms, text=said))
    return Seen(owner=PARENT, kind="parent", job="title", saw=[f"the title {calls[-1].text}"], calls=calls)


async def _child(host: SubagentHost, app: DemoApp, kind: Literal["worker", "explorer"], job: str) -> Seen:
    program = python_program("-m", "harness.subagents.demo.child", job, app.address)
    async with host.spawn(Agent(kind=kind), program) as child:
        try:
            async with asyncio.timeout(CHILD_S):
                given = await child.result()
        except TimeoutError as error:
            raise AxtrialError(f"the child for the job {job} did not end within {CHILD_S:g} s") from error
        if given is None:
            said = "" if child.process is None else child.process.last_line()
            raise AxtrialError(f"the child for the job {job} ended without a report; its last line was {said}")
        report = _Report.model_validate(given)
        return Seen(owner=child.owner, kind=kind, job=job, saw=report.saw, calls=report.calls)


def _judged(seen: Seen, app: DemoApp) -> Seen:
    wanted: Mapping[str, tuple[str, ...]] = {
        "title": ('the title "Membership desk"',),
        "form": (f'the page says "Welcome, {MEMBER["name"]}"',),
        "faults": ("ReferenceError: menu is not defined", f"500 GET {app.address}prices"),
        "picture": ("a picture of ",),
    }
    found = all(any(part in line for line in seen.saw) for part in wanted[seen.job])
    kept = seen.job != "form" or app.members == [dict(MEMBER)]
    return seen.model_copy(update={"ok": found and kept and all(call.ok for call in seen.calls)})
