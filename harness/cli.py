"""The command line: composition root and argument parsing. What a command does stands in the module that it calls."""

import asyncio
import json
import shlex
import sys
from dataclasses import asdict
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from formatters.errors import FormatterError
from formatters.search import Search, make_search
from harness.commands import compare, read_audit, show, subagents_demo
from harness.commands.format_input import format_file, format_lines
from harness.commands.observe_once import Observed, find_once, observe_once, observed_json, page_address
from harness.commands.show_report import show_report
from harness.commands.to_end import run_to_end
from harness.config import Settings, install_encoding, load_settings, quiet_matplotlib
from harness.doctor import examine
from harness.drivers import native_install, native_pin
from harness.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_USAGE, AxtrialError, UsageError, quoted
from harness.targets.chrome import install_chrome
from harness.tools.params import MAX_PAGE
from harness.trial.spec import BOUNDED, Arm, SpecFile, parse_arm, pick_tasks, read_spec_file, with_options
from observe.errors import ObservationError

app = typer.Typer(
    name="axtrial",
    help="See what a browser bot sees, and compare drivers and formats in fixed trials.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode="rich",
)

subagents = typer.Typer(help="Child processes that verify pages through their parent.", no_args_is_help=True)
app.add_typer(subagents, name="subagents")

Headed = Annotated[bool, typer.Option("--headed", help="Show the browser's window; needs a display.")]
Driver = Annotated[str, typer.Option(help="How the browser is spoken to.")]
Target = Annotated[str, typer.Option(help="Where the browser runs.")]
Formatter = Annotated[str, typer.Option(help="conservative, verbatim, structured, inline or page-text.")]
PageOf = Annotated[str, typer.Argument(metavar="PAGE", help="A URL or an .html file.")]
Json = Annotated[bool, typer.Option("--json", help="JSON on stdout, everything else on stderr.")]


class AxRead(StrEnum):
    """How much of the accessibility tree `observe` reads."""

    FULL = "full"
    BOUNDED = "bounded"


class ReportFormat(StrEnum):
    """What `report` can write."""

    HTML = "html"
    MD = "md"
    CSV = "csv"
    JSON = "json"


def _print_version(wanted: bool) -> None:
    if wanted:
        show.out.print(f"axtrial {version('axtrial')}")
        raise typer.Exit


@app.callback()
def every_command(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """See what a browser bot sees, and compare drivers and formats in fixed trials."""
    load_settings()  # a misspelt setting is refused by every command, also by those that need none


@app.command(epilog="Example: [bold]axtrial doctor --json[/bold]")
def doctor(as_json: Json = False) -> None:
    """List browser, drivers, container engine, model routes and encodings: version, or what is missing."""
    checks = examine(load_settings())
    if as_json:
        _print_json([check.as_json() for check in checks])
    else:
        show.out.print(show.checks_table(checks))
    if any(check.required and not check.ok for check in checks):
        raise typer.Exit(EXIT_FAILED)


@app.command(epilog="Examples: [bold]axtrial setup[/bold]   [bold]axtrial setup --driver agent-browser[/bold]")
def setup(
    driver: Annotated[str | None, typer.Option(help="Also fetch this driver, with npm: agent-browser.")] = None,
) -> None:
    """Bring what runs need: find or install Chrome, put the token encoding in place, fetch a native driver."""
    if driver not in (None, native_pin.NAME):
        raise UsageError(f"the driver {quoted(driver)} is not one that is fetched; there is {native_pin.NAME}")
    settings = load_settings()
    found = install_chrome(settings, _report_step)
    encoding = install_encoding(settings)
    show.err.print(f"Chrome {found.version} ({found.source}); token encoding {encoding.name}", markup=False)
    if driver is not None:
        native = run_to_end(native_install.install_native(settings, _report_step))
        show.err.print(f"driver {driver} {native.version} ({native.platform})", markup=False)


@app.command(
    epilog="Examples: [bold]axtrial observe page.html[/bold]   "
    "[bold]axtrial observe http://localhost:8000 --formatter structured --json[/bold]   "
    "[bold]axtrial observe page.html --page 2[/bold]"
)
def observe(
    page: PageOf,
    driver: Driver = "current",
    target: Target = "local",
    formatter: Formatter = "conservative",
    number: Annotated[
        int | None, typer.Option("--page", min=1, max=MAX_PAGE, help="Go on behind the cut: 2, 3 and so on.")
    ] = None,
    ax: Annotated[AxRead, typer.Option(help="Read the whole tree, or as far as it is shown.")] = AxRead.FULL,
    headed: Headed = False,
    as_json: Json = False,
) -> None:
    """Print what a bot would be shown of one page."""
    settings = load_settings(_shown(headed))
    arm = parse_arm(f"{driver}/{target}/{formatter}{BOUNDED if ax is AxRead.BOUNDED else ''}")
    _print_observed(run_to_end(observe_once(page_address(page), arm, settings, number)), arm, settings, as_json)


@app.command(
    epilog='Examples: [bold]axtrial find page.html "unpaid invoice"[/bold]   '
    "[bold]axtrial find http://localhost:8000 --regex 'button \"Delete' --json[/bold]"
)
def find(
    page: PageOf,
    text: Annotated[str | None, typer.Argument(metavar="[TEXT]", help="In any case and white space.")] = None,
    regex: Annotated[str | None, typer.Option(help="A regular expression of RE2 instead.")] = None,
    driver: Driver = "current",
    target: Target = "local",
    formatter: Formatter = "conservative",
    headed: Headed = False,
    as_json: Json = False,
) -> None:
    """Print what of a page matches, however long it is: lines, and action refs."""
    search = _given_search(text, regex)
    settings = load_settings(_shown(headed))
    arm = parse_arm(f"{driver}/{target}/{formatter}")
    _print_observed(run_to_end(find_once(page_address(page), arm, settings, search)), arm, settings, as_json)


@app.command(
    name="format",
    epilog="Examples: [bold]axtrial format snapshot.txt --json[/bold]   [bold]axtrial format --jsonl < lines[/bold]",
)
def format_command(
    file: Annotated[str | None, typer.Argument(metavar="FILE|-", help="Native snapshot text; - is stdin.")] = None,
    formatter: Annotated[str, typer.Option(help="conservative or verbatim.")] = "conservative",
    jsonl: Annotated[bool, typer.Option("--jsonl", help='Read {"id","text"} lines on stdin, answer each.')] = False,
    as_json: Json = False,
) -> None:
    """Format native snapshot text; needs no browser."""
    if jsonl:
        if file is not None:
            raise typer.BadParameter("--jsonl reads stdin; leave FILE out")
        if not format_lines(sys.stdin.buffer, sys.stdout, formatter):
            raise typer.Exit(EXIT_FAILED)
        return
    if file is None:
        raise typer.BadParameter("name a FILE, or - for stdin")
    formatted = format_file(file, formatter)
    if as_json:
        _print_json(asdict(formatted))
    else:
        show.print_text(formatted.text)


@app.command(epilog="Example: [bold]axtrial tasks --suite orders --json[/bold]")
def tasks(
    suite: Annotated[str | None, typer.Option(help="Only this suite.")] = None,
    fixtures: Annotated[Path | None, typer.Option(help="A folder of your own suites.")] = None,
    as_json: Json = False,
) -> None:
    """List suites and tasks."""
    listed = pick_tasks(None if suite is None else [suite], compare.known_tasks(fixtures))
    if as_json:
        _print_json([task.as_json() for task in listed])
    else:
        show.out.print(show.tasks_table(listed))


@app.command(
    epilog="Examples: [bold]axtrial run[/bold]   "
    "[bold]axtrial run --arm current/local/structured --task notes --repeats 4[/bold]   "
    "[bold]axtrial run --resume --out runs/DIR[/bold]"
)
def run(
    spec: Annotated[Path | None, typer.Argument(metavar="SPEC.toml", help="What to compare.")] = None,
    arm: Annotated[list[str] | None, typer.Option(help="DRIVER/TARGET/FORMATTER; may be repeated.")] = None,
    task: Annotated[list[str] | None, typer.Option(help="SUITE/TASK or a whole suite; may be repeated.")] = None,
    model: Annotated[str | None, typer.Option(help="The model route.")] = None,
    repeats: Annotated[int | None, typer.Option(min=1, help="How often each arm does each task.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Decides the order of arms.")] = None,
    fixtures: Annotated[Path | None, typer.Option(help="A folder of your own suites.")] = None,
    out: Annotated[Path | None, typer.Option(help="The run's folder; default runs/TIME.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    headed: Headed = False,
    as_json: Json = False,
) -> None:
    """Run a comparative trial; ends in a table and the report's path."""
    options = {
        "arms": arm,
        "tasks": task,
        "model": model,
        "repeats": repeats,
        "seed": seed,
        "fixtures": None if fixtures is None else str(fixtures),
    }
    given = with_options(read_spec_file(spec) if spec is not None else SpecFile(), options)
    prepared = compare.prepare(given, out, resume=resume, settings=load_settings(_shown(headed)))
    folder = prepared.ledger.folder
    try:
        with show.trial_progress(len(prepared.plan.trials), len(prepared.ledger.done)) as progress:
            run_to_end(compare.carry_out(prepared, progress.ended))
    except (asyncio.CancelledError, KeyboardInterrupt):
        command = shlex.join(["axtrial", "run", "--resume", "--out", str(folder)])
        _fail(f"interrupted; go on with: {command}", EXIT_INTERRUPTED)
    if not show_report(folder, as_json=as_json):
        raise typer.Exit(EXIT_FAILED)


@app.command(epilog="Example: [bold]axtrial report runs/DIR --format md[/bold]")
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A run's folder.")],
    form: Annotated[ReportFormat | None, typer.Option("--format", help="Print one form instead.")] = None,
) -> None:
    """Draw the report again from the rows."""
    if form is None or form is ReportFormat.HTML:
        show_report(folder, as_json=False)
        return
    quiet_matplotlib(load_settings())
    from reports.write import render  # pandas and matplotlib take 0.7 s to import

    show.print_text(render(folder, form.value))  # type: ignore[arg-type]  # the same four words


@app.command(epilog="Examples: [bold]axtrial audit --bot anna[/bold]   [bold]axtrial audit --last 20 --json[/bold]")
def audit(
    bot: Annotated[str | None, typer.Option(help="Only calls of this bot.")] = None,
    session: Annotated[str | None, typer.Option(help="Only calls of this session.")] = None,
    last: Annotated[int, typer.Option(min=1, max=read_audit.MAX_LAST, help="So many, the latest.")] = read_audit.LAST,
    as_json: Json = False,
) -> None:
    """Show what bots did: one line a call, the newest last."""
    answer = read_audit.recorded_calls(load_settings(), last, bot, session)
    if answer.note is not None:
        show.err.print(answer.note, markup=False, soft_wrap=True)
    if as_json:
        show.print_text(read_audit.calls_json(answer.rows))
    elif answer.rows:
        read_audit.print_calls(show.out, answer.rows)


def _given_search(text: str | None, regex: str | None) -> Search:
    if (text is None) == (regex is None):
        raise typer.BadParameter("give either TEXT or --regex")
    return make_search("regex", regex) if regex is not None else make_search("text", text or "")


def _print_observed(observed: Observed, arm: Arm, settings: Settings, as_json: bool) -> None:
    if as_json:
        _print_json(observed_json(observed, arm, compare.load_estimator(settings)))
    else:
        show.print_text(observed.rendering.text)


@subagents.command(epilog="Example: [bold]axtrial subagents demo --json[/bold]")
def demo(headed: Headed = False, as_json: Json = False) -> None:
    """Let a parent and three child processes verify a small app at the same time, and print what each saw."""
    shown = run_to_end(subagents_demo.demo(load_settings(_shown(headed))))
    if as_json:
        _print_json(subagents_demo.demo_json(shown))
    else:
        show.out.print(subagents_demo.demo_view(shown))
    if not shown.ok:
        raise typer.Exit(EXIT_FAILED)


def _report_step(line: str) -> None:
    show.err.print(line, markup=False, soft_wrap=True)


def _print_json(value: object) -> None:
    show.print_text(json.dumps(value, ensure_ascii=False, indent=2))


def main() -> None:
    """The console script: every foreseen failure is one sentence and an exit code, never a traceback."""
    from reports.errors import ReportError
    from reports.row import RowError

    try:
        app(standalone_mode=True)
    except AxtrialError as error:
        _fail(error.message, error.exit_code)
    except FormatterError as error:
        _fail(str(error), EXIT_USAGE)
    except (ReportError, RowError) as error:
        _fail(str(error), EXIT_USAGE)
    except ObservationError as error:
        _fail(str(error), EXIT_FAILED)
    except (asyncio.CancelledError, KeyboardInterrupt):
        _fail("interrupted", EXIT_INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of stdout is gone; nothing is left to tell it
        raise SystemExit(EXIT_FAILED) from None
    except OSError as error:  # a full disk, or a path that the system refuses in a place where nobody expected it
        where = "" if error.filename is None else f": {quoted(str(error.filename))}"
        _fail(f"{error.strerror or type(error).__name__}{where}", EXIT_FAILED)


def _fail(sentence: str, code: int) -> NoReturn:
    show.err.print(f"axtrial: {sentence}", markup=False, soft_wrap=True)
    raise SystemExit(code)


def _shown(headed: bool) -> dict[str, object]:
    """The flag as a setting; left out, the setting decides."""
    return {"headed": True} if headed else {}
