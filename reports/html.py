"""report.html: one self-contained page, without scripts and without any address outside itself.

Page text is hostile. Everything passes through the template's autoescape; only the drawings of `reports.plots`
are markup, and they are made there from escaped text.
"""

import json
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from reports.caveats import caveats
from reports.errors import StepsError, TrialIdError
from reports.load import Run, Step, load_steps
from reports.metrics import comparable, succeeded
from reports.paired import comparison_tables
from reports.plots import plots
from reports.row import Row
from reports.text import (
    ANSWER_BOUND,
    CELL_BOUND,
    NAME_BOUND,
    RENDERING_BOUND,
    UNKNOWN,
    bounded,
    number,
    one_line,
    visible,
)
from reports.views import failure_table, failures, outcome_words, target_views

PAGE_BOUND = 8_000_000
"""Characters of renderings in one report; more makes the file slow to open. The rest stays in steps.jsonl."""


DIGEST_SHOWN = 19
"""Characters of a digest on the page: its algorithm and twelve of its figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """One step as the page shows it."""

    n: int
    tool: str
    outcome: str
    good: bool
    facts: tuple[tuple[str, str], ...]
    arguments: str
    answer: str
    rendering: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialView:
    """One trial as the page shows it. `tone` is good, bad or fault."""

    row: Row
    outcome: str
    tone: str
    facts: tuple[tuple[str, str], ...]
    steps: tuple[StepView, ...]
    notes: tuple[str, ...]


def html_report(run: Run) -> str:
    """The whole page."""
    environment = Environment(
        loader=PackageLoader("reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["line"] = one_line
    environment.filters["name"] = _name
    against, others = comparison_tables(run)
    trials = _trials(run)
    return environment.get_template("report.html.j2").render(
        facts=_facts(run),
        tasks=run.manifest.tasks,
        counts=_counts(run),
        failed=failure_table(run.rows),
        targets=target_views(run),
        against=against,
        others=others,
        plots=[(plot, Markup(plot.svg)) for plot in plots(run.rows, run.manifest.arms)],
        trials=trials,
        deviations=[*run.manifest.deviations, *run.notes],
        trial_deviations=[(row.trial_id, text) for row in run.rows for text in row.deviations],
        caveats=caveats(run),
    )


def _name(text: str) -> str:
    return one_line(text, NAME_BOUND)


def _facts(run: Run) -> list[tuple[str, str]]:
    manifest = run.manifest
    versions = ", ".join(f"{name} {version or UNKNOWN}" for name, version in manifest.versions)
    digests = [f"{name} {_digest(manifest.text(f'{name}_digest'))}" for name in ("prompt", "spec")]
    return [
        ("Arms", ", ".join(manifest.arms) or UNKNOWN),
        ("Model", manifest.text("model") or UNKNOWN),
        ("Machine", manifest.machine or UNKNOWN),
        ("Versions", versions or UNKNOWN),
        ("Container image", manifest.text("image") or "none recorded"),
        ("Protocol", f"{manifest.text('protocol') or UNKNOWN}, seed {manifest.text('seed') or UNKNOWN}"),
        ("Digests", ", ".join(digests)),
        ("Made", manifest.text("created_at") or UNKNOWN),
    ]


def _digest(digest: str | None) -> str:
    # Enough to tell two digests apart by eye; the whole one stands in manifest.json.
    return UNKNOWN if digest is None else f"{digest[:DIGEST_SHOWN]}..." if len(digest) > DIGEST_SHOWN else digest


def _counts(run: Run) -> list[tuple[str, str]]:
    planned = len(run.manifest.schedule)
    return [
        ("trials started", f"{len(run.rows)} of {planned}" if planned else str(len(run.rows))),
        ("completed comparisons", str(sum(map(comparable, run.rows)))),
        ("succeeded", str(sum(map(succeeded, run.rows)))),
        ("did not succeed", str(len(failures(run.rows)))),
    ]


def _trials(run: Run) -> list[TrialView]:
    budget = PAGE_BOUND
    views = []
    for row in run.rows:
        notes: list[str] = []
        steps: list[Step] = []
        try:
            loaded = load_steps(run.folder, row.trial_id)
        except (StepsError, TrialIdError) as error:
            # One damaged file must not hide the other trials.
            notes.append(f"The steps cannot be shown: {error}")
        else:
            steps, notes = loaded.steps, loaded.notes
        shown = []
        for step in steps:
            view = _step(step, budget)
            budget -= len(view.rendering or "")
            shown.append(view)
        views.append(_trial(row, tuple(shown), tuple(notes)))
    return views


def _trial(row: Row, steps: tuple[StepView, ...], notes: tuple[str, ...]) -> TrialView:
    facts = [
        ("Block", f"{row.block_id}, repeat {row.repeat}, position {row.position}"),
        ("Started", row.started_at),
        ("Calls", number(row.calls)),
        ("Observations", number(row.observations)),
        ("Refusals", number(row.refusals)),
        ("Errors", number(row.errors)),
        ("Retries", number(row.retries)),
        ("Wall s", number(row.wall_s, 2)),
        ("Approval s", number(row.approval_s, 2)),
        ("Characters", number(row.obs_chars)),
        ("UTF-8 bytes", number(row.obs_utf8_bytes)),
        ("Estimated tokens", f"{number(row.est_tokens)} ({row.est_encoding or 'encoding ' + UNKNOWN})"),
        ("Recorded tokens", number(row.usage.total if row.usage else None)),
        ("Facts kept", f"{number(row.facts_kept)} of {number(row.facts_total)}"),
    ]
    tone = "good" if succeeded(row) else "bad" if comparable(row) else "fault"
    return TrialView(row=row, outcome=outcome_words(row), tone=tone, facts=tuple(facts), steps=steps, notes=notes)


def _step(step: Step, budget: int) -> StepView:
    facts = [("at", f"{number(step.at_ms / 1000, 2)} s")]
    facts += [(one_line(stage, NAME_BOUND), f"{number(ms, None)} ms") for stage, ms in step.stages_ms.items()]
    sizes = (("characters", step.chars), ("bytes", step.utf8_bytes), ("est. tokens", step.est_tokens))
    facts += [(label, number(size)) for label, size in sizes if size is not None or step.rendering is not None]
    states = (("verbatim", step.verbatim), ("truncated", step.truncated))
    facts += [(label, "yes") for label, state in states if state]
    if step.input_sent is not None:
        facts.append(("input sent", "yes" if step.input_sent else "no"))
    rendering = step.rendering
    if rendering is not None:
        bound = min(RENDERING_BOUND, max(budget, CELL_BOUND))
        rendering = bounded(visible(rendering), bound)
    return StepView(
        n=step.n,
        tool=step.tool,
        outcome=step.outcome,
        good=step.outcome == "ok",
        facts=tuple(facts),
        arguments=bounded(visible(json.dumps(step.arguments, ensure_ascii=False)), ANSWER_BOUND),
        answer=bounded(visible(step.answer), ANSWER_BOUND),
        rendering=rendering,
    )
