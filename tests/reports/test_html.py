"""report.html as a reader's browser sees it: sections, nothing from outside, and no markup from page text."""

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from reports.html import html_report
from reports.load import load_run
from reports.row import Row

HOSTILE = "</pre></td><script>alert(1)</script><img src=x onerror=a> ]]> --> {{ 7*7 }} \u202e\u2066\x00 &lt;"
SECTIONS = ["failures", "target-1", "plots", "pairs", "deviations", "limits", "tasks", "trials"]


class _Page(HTMLParser):
    """Tags with their attributes, and all text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data

    @property
    def sections(self) -> list[str]:
        known = re.compile(r"failures|target-\d+|pairs|plots|deviations|limits|tasks|trials")
        return [value for name, value in self.attributes if name == "id" and known.fullmatch(value)]


def _step(**changes: Any) -> dict[str, Any]:
    step = {"n": 1, "at_ms": 5.0, "tool": "observe", "arguments": {}, "answer": "a", "outcome": "ok", "rendering": None}
    return step | changes


def test_sections_and_nothing_from_outside(rows: list[Row], write_run: Callable[..., Path]) -> None:
    text = html_report(load_run(write_run(rows)))
    page = _Page(text)
    assert page.sections == SECTIONS
    assert "script" not in page.tags
    assert all(value.startswith("#") for name, value in page.attributes if name.split(":")[-1] in ("src", "href"))
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert ("content", policy) in page.attributes
    assert not re.search(r"@import|url\((?!#)", text)
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert page.tags.count("svg") == 4
    assert "None: every trial completed and succeeded." in page.text


def test_the_same_run_gives_the_same_page(rows: list[Row], write_run: Callable[..., Path]) -> None:
    run = load_run(write_run(rows))
    assert html_report(run) == html_report(run)


def test_page_text_is_never_markup(
    make_row: Callable[..., Row], manifest: dict[str, Any], write_run: Callable[..., Path]
) -> None:
    manifest["deviations"] = [HOSTILE]
    manifest["model"] = HOSTILE
    manifest["tasks"][0]["goal"] = HOSTILE
    row = make_row(
        outcome="wrong_result", success=False, error=HOSTILE, deviations=[HOSTILE], suite=HOSTILE, task=HOSTILE,
        formatter=HOSTILE, obs_chars=5, est_tokens=1, est_encoding=HOSTILE,
        stages={HOSTILE: {"n": 1, "sum": 1.0, "median": 1.0, "max": 1.0}},
    )  # fmt: skip
    step = _step(
        tool=HOSTILE, arguments={HOSTILE: HOSTILE}, answer=HOSTILE, outcome=HOSTILE, rendering=HOSTILE,
        stages_ms={HOSTILE: 1.0},
    )  # fmt: skip
    text = html_report(load_run(write_run([row], {row.trial_id: [step]})))
    page = _Page(text)
    assert not {"script", "img"} & set(page.tags)
    assert not any(name.startswith("on") for name, _ in page.attributes)
    assert not set("\u202e\u2066\x00") & set(text)
    assert "<script>alert(1)</script>" in page.text
    assert "{{ 7*7 }} \\u202e\\u2066\\u0000 &lt;" in page.text


def test_renderings_keep_their_lines_and_are_bounded(
    make_row: Callable[..., Row], write_run: Callable[..., Path]
) -> None:
    row = make_row()
    steps = [_step(rendering="URL: x\nTitle: y\n"), _step(n=2, rendering="z" * 50_000)]
    text = html_report(load_run(write_run([row], {row.trial_id: steps})))
    assert ">URL: x\nTitle: y\n</pre>" in text
    assert f"{'z' * 40_000} [cut: 40,000 of 50,000 characters shown]</pre>" in text
    assert "z" * 40_001 not in text


def test_failures_come_first(rows: list[Row], write_run: Callable[..., Path]) -> None:
    bad = rows[1].model_copy(update={"outcome": "limit_time", "success": False, "error": "180 s are over"})
    text = _Page(html_report(load_run(write_run([rows[0], bad, *rows[2:]])))).text
    assert text.index("180 s are over") < text.index("Size and tokens")
    assert "None: every trial" not in text


def test_nothing_completed(make_row: Callable[..., Row], write_run: Callable[..., Path]) -> None:
    row = make_row(outcome="driver_failed", success=None, error="Chrome is gone")
    page = _Page(html_report(load_run(write_run([row]))))
    assert page.sections == SECTIONS
    assert "No trial is a completed comparison, so the run says nothing about how the arms differ." in page.text
    assert "Nothing to draw: no size and no time is known for any trial." in page.text
    assert "unknown" in page.text


def test_no_rows(write_run: Callable[..., Path]) -> None:
    page = _Page(html_report(load_run(write_run([]))))
    assert page.sections == [name for name in SECTIONS if name != "target-1"]
    assert "No trial has a row yet." in page.text


def test_damaged_steps_do_not_hide_the_other_trials(rows: list[Row], write_run: Callable[..., Path]) -> None:
    folder = write_run(rows, {rows[0].trial_id: [_step(n="1")], rows[1].trial_id: [_step(answer="seen")]})
    text = _Page(html_report(load_run(folder))).text
    assert "The steps cannot be shown: trials/notes.r1.page-text/steps.jsonl, line 1 is not a step: n: " in text
    assert "seen" in text
    assert str(folder) not in text
