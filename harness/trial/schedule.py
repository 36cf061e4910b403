"""The order of a run's trials: blocks whose arms run next to each other, in an order drawn from the recorded seed."""

import random
from dataclasses import dataclass

from harness.trial.spec import Arm, RunSpec
from harness.trial.tasks import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One trial before it runs. `repeat` counts from 1, `position` inside its block from 0."""

    trial_id: str
    block_id: str
    arm: Arm
    task: Task
    repeat: int
    position: int


def schedule(spec: RunSpec) -> tuple[Planned, ...]:
    """Every trial of a run, in the order in which they run.

    A block is one task, repeat and target. Of each two repeats the second has the reverse order of the first (ABBA),
    so that a steady drift of the machine does not favour an arm; the first order of each pair is drawn anew.
    """
    draw = random.Random(spec.seed)
    targets = tuple(dict.fromkeys(arm.target for arm in spec.arms))
    orders: dict[tuple[str, str], list[Arm]] = {}
    planned: list[Planned] = []
    for repeat in range(spec.repeats):
        for task in spec.tasks:
            for target in targets:
                key = (task.key, target)
                if repeat % 2 == 0:
                    orders[key] = [arm for arm in spec.arms if arm.target == target]
                    draw.shuffle(orders[key])
                order = orders[key] if repeat % 2 == 0 else orders[key][::-1]
                planned.extend(_block(task, repeat + 1, target, order))
    return tuple(planned)


def _block(task: Task, repeat: int, target: str, order: list[Arm]) -> list[Planned]:
    block = f"{task.suite}.{task.name}.{target}.{repeat}"
    return [
        Planned(
            trial_id=f"{block}.{arm.driver}.{arm.representation.replace('+', '-')}",
            block_id=block,
            arm=arm,
            task=task,
            repeat=repeat,
            position=position,
        )
        for position, arm in enumerate(order)
    ]
