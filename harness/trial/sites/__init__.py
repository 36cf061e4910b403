"""What the fixture server does beyond handing out pages, by the `site` that a task names."""

from collections.abc import Callable
from typing import assert_never

from harness.trial.sites.base import Site
from harness.trial.sites.generic import GenericSite
from harness.trial.sites.orders import DATA_FILE, OrdersSite, load_catalog
from harness.trial.tasks import Task


def maker(task: Task) -> Callable[[], Site]:
    """What makes a fresh state for each run of the task.

    Raises:
        SpecError: the task's data file is missing or not of the form that its site needs.
    """
    match task.site:
        case "generic":
            return GenericSite
        case "orders":
            catalog = load_catalog(task.folder / DATA_FILE)
            return lambda: OrdersSite(catalog)
        case _:
            assert_never(task.site)
