"""What a run cannot tell, as sentences derived from its own rows."""

from collections import defaultdict
from collections.abc import Sequence

from reports.compare import Pair, compare
from reports.load import Run
from reports.manifest import Manifest
from reports.metrics import comparable, succeeded
from reports.row import Row


def caveats(run: Run) -> list[str]:
    """Sentences for the section "What this run cannot tell", most general first."""
    rows = run.rows
    if not rows:
        return ["Nothing: no trial has a row yet."]
    pairs = compare(rows, run.manifest)
    compared = [row for row in rows if comparable(row)]
    found = [
        _samples(compared),
        _machine(rows),
        _missing(rows, run.manifest),
        *_tokens(rows, run.manifest),
        _facts(compared),
        _success(compared),
        *_order(rows),
        *_pairs(pairs),
        "Wall time contains the model, prescribed waits and the start of the browser; the stages show where it went.",
    ]
    return [sentence for sentence in found if sentence]


def _samples(compared: Sequence[Row]) -> str:
    if not compared:
        return "No trial is a completed comparison, so the run says nothing about how the arms differ."
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for row in compared:
        counts[row.suite, row.arm] += 1
    low, high = min(counts.values()), max(counts.values())
    size = str(low) if low == high else f"{low} to {high}"
    return (
        f"n is {size} for each suite and arm. Differences of this run are descriptions, not tests: "
        "there is no interval, and no percentile beyond the median and the maximum."
    )


def _machine(rows: Sequence[Row]) -> str:
    machines = {(row.platform.os, row.platform.architecture) for row in rows if row.platform}
    if not machines:
        return "The machine is not known, so times cannot be set beside those of another run."
    kinds = "; ".join(f"{system}, {architecture}" for system, architecture in sorted(machines))
    return f"Times hold for the machine that the run was made on ({kinds}) and its load at that time."


def _missing(rows: Sequence[Row], manifest: Manifest) -> str:
    planned = {plan.trial_id for plan in manifest.schedule}
    missing = planned - {row.trial_id for row in rows}
    return f"{len(missing)} of {len(planned)} planned trials have no row." if missing else ""


def _tokens(rows: Sequence[Row], manifest: Manifest) -> list[str]:
    unknown = sum(row.usage is None or row.usage.total is None for row in rows)
    found = []
    if manifest.text("model") == "scripted":
        found.append(
            "The model is a script: it uses no tokens, and its success shows that a rendering holds what the task "
            "needs, not how a language model would read it."
        )
    if unknown:
        found.append(f"Recorded tokens are unknown for {unknown} of {len(rows)} trials; estimates do not replace them.")
    encodings = sorted({row.est_encoding for row in rows if row.est_encoding and row.est_tokens is not None})
    if encodings:
        found.append(f"Estimated tokens count text by {', '.join(encodings)}; a model may count it otherwise.")
    return found


def _facts(compared: Sequence[Row]) -> str:
    unscored = sum(row.facts_total is None or row.facts_kept is None for row in compared)
    if not unscored:
        return ""
    return (
        f"Whether the facts of a page were kept is not scored for {unscored} of {len(compared)} compared trials: "
        "a smaller observation may be a poorer one."
    )


def _success(compared: Sequence[Row]) -> str:
    wins = sum(map(succeeded, compared))
    if compared and wins in (0, len(compared)):
        return f"Success does not separate the arms: {wins} of {len(compared)} compared trials succeeded."
    return ""


def _order(rows: Sequence[Row]) -> list[str]:
    places: dict[tuple[str, str], set[int]] = defaultdict(set)
    for row in rows:
        places[row.suite, row.arm].add(row.position)
    found = []
    fixed = sorted({arm for (_, arm), seen in places.items() if len(seen) == 1})
    if fixed and len(places) > 1:
        found.append(f"An effect of the arm and of its place in the order cannot be told apart for {', '.join(fixed)}.")
    found.append("No arm was compared with itself, so the noise of this machine is not measured.")
    return found


def _pairs(pairs: Sequence[Pair]) -> list[str]:
    found = []
    left_out = sum(times for pair in pairs for _, times in pair.excluded)
    if left_out:
        found.append(f"{left_out} paired differences are missing; the tables of paired comparisons name the reasons.")
    unfinished = sum(pair.unfinished for pair in pairs)
    if unfinished:
        found.append(
            f"{unfinished} pairs hold a trial that ended without completing: "
            "its sizes and times count only what it did until then."
        )
    return found
