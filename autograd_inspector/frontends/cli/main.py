"""``autograd-inspect``: the inspector in a terminal and in CI."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

from autograd_inspector import __version__
from autograd_inspector.api.destinations import Saved, own_file, rank_of, saved, unwritable, written
from autograd_inspector.api.ranks import left_behind
from autograd_inspector.api.report import Report
from autograd_inspector.frontends.cli.apart import PatchOutput
from autograd_inspector.frontends.cli.conclusion import Conclusion, concluded, empty_status, unable, write_status
from autograd_inspector.frontends.cli.ending import Ending
from autograd_inspector.frontends.cli.fixing import fixed, left_out, patch_of, unedited
from autograd_inspector.frontends.cli.merge import merge_files
from autograd_inspector.frontends.cli.module import run_module
from autograd_inspector.frontends.cli.notebook import run_notebook
from autograd_inspector.frontends.cli.outcome import FINDINGS, UNABLE, Asked, Outcome, ProgramError
from autograd_inspector.frontends.cli.overlay import lay_over
from autograd_inspector.frontends.cli.parser import misplaced, parsed, parser_of
from autograd_inspector.frontends.cli.screen import Screen, UnwritableError, put
from autograd_inspector.frontends.cli.script import run_script
from autograd_inspector.frontends.cli.show import StoredReportError, show, stored
from autograd_inspector.frontends.cli.trial import tried
from autograd_inspector.model.checkpoint import CheckpointError
from autograd_inspector.model.finding import SEVERITIES
from autograd_inspector.model.wording import counted

_NOT_RUN = {".json": "show", ".pt": "checkpoint", ".pth": "checkpoint", ".safetensors": "checkpoint"}
_UNREAD = 141
"""As a shell tells of a process that SIGPIPE ended."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit status, as ``autograd-inspect --help`` tells them."""
    parser = parser_of()
    options = parsed(parser, arguments)
    try:
        status = _COMMANDS[options.command](parser, options)
        put("", sys.stdout)  # what the program has printed
    except BrokenPipeError:
        # `autograd-inspect show --text report.json | head`: nobody reads on.
        _forget_stdout()
        return _UNREAD
    except UnwritableError as failure:
        _forget_stdout()
        parser.error(f"cannot write to stdout: {failure.strerror or failure}")
    return status


def _forget_stdout() -> None:
    """What Python flushes at exit goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    root, screen, ending = Path.cwd(), Screen(options, sys.stderr), Ending()
    status_file = options.status_file and str(root / Path(options.status_file).expanduser())
    problem = ""
    try:
        _prepare(options, status_file)
        hint = misplaced(options, parser)
        if hint and not options.quiet:
            screen.say(hint)
        output = PatchOutput(options.color) if options.diff else None
        begun, started = time.time(), time.perf_counter()
        outcome = _outcome(options, ending)
        if options.try_fixes:
            outcome = tried(outcome, options, time.perf_counter() - started, screen.say)
        conclusion = _together(_conclude(outcome, options, root, screen), outcome, options, screen, ending)
        _fix([report for _, report in outcome.reports], options, screen, begun, output)
        if status_file:
            problem = write_status(own_file(status_file, rank=_rank_after(outcome)), conclusion)
    except ProgramError as error:
        if status_file and not unwritable(status_file):
            write_status(own_file(status_file, rank=rank_of()), unable(str(error)))
        parser.error(str(error))
    finally:
        ending.release()
    if not options.quiet:
        screen.remind()
    for line in filter(None, (problem, conclusion.line if conclusion.failed or not options.quiet else "")):
        screen.say(line)
    return conclusion.status


def _prepare(options: argparse.Namespace, status_file: str | None) -> None:
    """Raise ProgramError for a file that cannot be written: before a training of hours, not after it."""
    for path in filter(None, (options.html, options.json, options.sarif, status_file)):
        if unwritable(path):
            raise ProgramError(unwritable(path))
    if options.overlay:
        lay_over(json.loads(Path(options.overlay).read_text(encoding="utf-8")))
    if status_file:
        empty_status(own_file(status_file, rank=rank_of()))


def _rank_after(outcome: Outcome) -> int:
    return rank_of(outcome.reports[-1][1] if outcome.reports else None)


def _outcome(options: argparse.Namespace, ending: Ending) -> Outcome:
    rank = rank_of()
    waits = own_file(str(Path.cwd() / Path(options.json).expanduser()), rank=rank) if options.json and rank >= 0 else ""
    waiting = options.timeout if rank >= 0 else 0.0
    asked = Asked(options.values, options.eager, tuple(options.ignore), waiting, waits)
    if options.module:
        return run_module(options.program, options.arguments, asked, ended=ending.hold)
    path = Path(options.program)
    if not path.is_file():
        raise ProgramError(
            f"{path} is a folder: name a script or a notebook in it" if path.is_dir() else f"no such file: {path}"
        )
    other = _NOT_RUN.get(path.suffix.lower())
    if other is not None:
        raise ProgramError(f"{path} is not a script or notebook; to open it: autograd-inspect {other} {path}")
    if path.suffix != ".ipynb":
        return run_script(path, options.arguments, asked, ended=ending.hold)
    if options.arguments:
        raise ProgramError("a notebook takes no arguments")
    return run_notebook(path, asked)


def _conclude(outcome: Outcome, options: argparse.Namespace, root: Path, screen: Screen) -> Conclusion:
    """Print and write the reports."""
    files: list[Saved] = []
    for cell, report in outcome.reports:
        rank = rank_of(report)
        if not options.quiet:
            whose = (f"In [{cell}]" if cell else "", f"rank {rank}" if rank >= 0 else "")
            screen.show(report, ", ".join(filter(None, whose)))
        html, json = (path and own_file(path, cell=cell, rank=rank) for path in (options.html, options.json))
        files += written(report, html=html, json=json)
    conclusion = concluded(outcome, options.fail_on)
    if options.sarif:
        log = own_file(options.sarif, rank=_rank_after(outcome))
        files.append(saved(log, lambda: _sarif(outcome, root, conclusion.status)))
    for file in files:
        if file.problem or not options.quiet:
            screen.say(file.line)
    return conclusion


def _together(
    conclusion: Conclusion, outcome: Outcome, options: argparse.Namespace, screen: Screen, ending: Ending
) -> Conclusion:
    """On rank 0 of several: print and write the report of all, and end as the worst of them does."""
    reports = [report for _, report in outcome.reports]
    if len(reports) != 1 or rank_of(reports[0]) < 0:
        return conclusion
    merged = left_behind(reports[0], timeout=options.timeout, hurry=lambda: ending.asked)
    if merged is None:
        return conclusion
    if not options.quiet:
        screen.show(merged, "all ranks")
    for file in written(merged, html=options.html, json=options.json):
        if file.problem or not options.quiet:
            screen.say(file.line)
    severe = SEVERITIES[: SEVERITIES.index(options.fail_on) + 1]
    found = tuple(each.finding for each in merged.findings if each.finding.severity in severe)
    if conclusion.exit == "findings" or not found:
        return conclusion
    codes = ", ".join(dict.fromkeys(f"{finding.rule} {finding.name}" for finding in found))
    why = f"{counted(len(found), 'finding')} of all ranks: {codes}"
    return Conclusion("findings", FINDINGS, conclusion.program, found, why)


def _fix(
    reports: list[Report], options: argparse.Namespace, screen: Screen, begun: float, output: PatchOutput | None
) -> None:
    """Show, or make, the edits that were asked for. ``begun``: when the run did, in seconds since the epoch."""
    if not (options.fix or output):
        return
    if output is not None:
        output.write(patch_of(reports, unsafe=options.unsafe_fixes))
    else:
        for line in fixed(reports, unsafe=options.unsafe_fixes, begun=begun):
            screen.say(line)
    for line in unedited(reports) if options.quiet else ():
        screen.say(line)
    hint = "" if options.unsafe_fixes else left_out(reports)
    if hint:
        screen.say(hint)


def _sarif(outcome: Outcome, root: Path, exit_code: int) -> str:
    """One log of all reports: a code host replaces what an earlier one said of the same tool."""
    from autograd_inspector.capture.lines.gutter import whole_text_of
    from autograd_inspector.rules import CATALOGUE
    from autograd_inspector.views.sarif.log import Analysis, to_sarif

    reports = tuple(report for _, report in outcome.reports)
    run = Analysis(reports, outcome.program, root, outcome.status, exit_code, __version__, whole_text_of)
    return to_sarif(run, CATALOGUE)


def _rule(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    from autograd_inspector.kernel.rule_codes import missing
    from autograd_inspector.rules import CATALOGUE

    if options.all == bool(options.code):
        parser.error("rule: give one code, or --all")
    code_or_name = options.code or ""
    code = next((rule.code for rule in CATALOGUE.values() if rule.name == code_or_name.lower()), code_or_name.upper())
    if code_or_name and code not in CATALOGUE:
        parser.error(missing(code_or_name))
    for rule in (CATALOGUE[each] for each in (sorted(CATALOGUE) if options.all else [code])):
        title = f"{rule.code} {rule.name}"
        put(f"{title}\n{'=' * len(title)}\n\n{_without_markup(rule.page)}\n\n", sys.stdout)
    return 0


def _without_markup(page: str) -> str:
    """In a terminal code stands out by its indentation: the mark before it is for pages."""
    return re.sub(r"^ *::\n\n", "", page, flags=re.MULTILINE)


def _show(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    try:
        report = stored(Path(options.report))
    except StoredReportError as error:
        parser.error(str(error))
    if options.text or options.order:
        Screen(options, sys.stdout).show(report)
        return 0
    try:
        for line in show(report, Path(options.html).expanduser() if options.html else None):
            put(f"{line}\n", sys.stdout)
    except (BrokenPipeError, UnwritableError):
        raise
    except OSError as failure:
        parser.error(f"cannot write {options.html or 'a temporary file'}: {failure.strerror or failure}")
    return 0


def _checkpoint(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    from autograd_inspector.api.inspect_live import inspect_checkpoint

    try:
        report = inspect_checkpoint(options.file)
    except CheckpointError as error:
        parser.error(f"checkpoint: {error}")
    outcome = Outcome(0, ((0, report),), Path(options.file))
    return _conclude(outcome, options, Path.cwd(), Screen(options, sys.stdout)).status


def _merge(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    screen = Screen(options, sys.stdout)
    merged = merge_files(map(Path, options.reports))
    for problem in merged.problems:
        screen.say(problem)
    if merged.report is None:
        parser.error("merge: none of the files is a report")
    screen.show(merged.report)
    for file in written(merged.report, html=options.html, json=options.json):
        screen.say(file.line)
    if any(ranked.finding.severity == "error" for ranked in merged.report.findings):
        return FINDINGS
    return UNABLE if merged.problems else 0


_COMMANDS: dict[str, Callable[[argparse.ArgumentParser, argparse.Namespace], int]] = {
    "run": _run,
    "rule": _rule,
    "show": _show,
    "merge": _merge,
    "checkpoint": _checkpoint,
}


if __name__ == "__main__":
    sys.exit(main())
