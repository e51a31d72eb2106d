"""``autograd-inspect``: the inspector in a terminal and in CI."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from autograd_inspector import __version__
from autograd_inspector.api.destinations import own_file, rank_of, saved, unwritable, written
from autograd_inspector.api.errors import NotJudgedError, failure_of
from autograd_inspector.api.ranks import RanksReport
from autograd_inspector.frontends.cli.ending import Ending
from autograd_inspector.frontends.cli.merge import merge_files
from autograd_inspector.frontends.cli.module import run_module
from autograd_inspector.frontends.cli.notebook import run_notebook
from autograd_inspector.frontends.cli.outcome import NOT_JUDGED, Outcome, ProgramError
from autograd_inspector.frontends.cli.parser import parser_of
from autograd_inspector.frontends.cli.script import run_script
from autograd_inspector.frontends.cli.show import StoredReportError, show, stored
from autograd_inspector.model.checkpoint import CheckpointError

_NOT_RUN = {".json": "show", ".pt": "checkpoint", ".pth": "checkpoint", ".safetensors": "checkpoint"}
_UNREAD = 141
"""As a shell tells of a process that SIGPIPE ended."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit status, as ``autograd-inspect --help`` tells them."""
    parser = parser_of()
    options = parser.parse_args(arguments)
    try:
        status = _COMMANDS[options.command](parser, options)
        sys.stdout.flush()
    except BrokenPipeError:
        # `autograd-inspect show --text report.json | head`: nobody reads on. What Python flushes at exit goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _UNREAD
    return status


def _run(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    root = Path.cwd()
    for path in filter(None, (options.html, options.json, options.sarif)):
        if unwritable(path):  # Told before a training of hours, not after it.
            parser.error(unwritable(path))
    ending = Ending()
    try:
        return _conclude(_outcome(parser, options, ending), options, root)
    except ProgramError as error:
        parser.error(str(error))
    finally:
        ending.release()


def _outcome(parser: argparse.ArgumentParser, options: argparse.Namespace, ending: Ending) -> Outcome:
    asked = {"values": options.values, "ignore": options.ignore}
    if options.module:
        return run_module(options.program, options.arguments, **asked, ended=ending.hold)
    path = Path(options.program)
    if not path.is_file():
        parser.error(
            f"{path} is a folder: name a script or a notebook in it" if path.is_dir() else f"no such file: {path}"
        )
    other = _NOT_RUN.get(path.suffix.lower())
    if other is not None:
        parser.error(f"{path} is not a script or notebook; to open it: autograd-inspect {other} {path}")
    if path.suffix != ".ipynb":
        return run_script(path, options.arguments, **asked, ended=ending.hold)
    if options.arguments:
        parser.error("a notebook takes no arguments")
    return run_notebook(path, **asked)


def _conclude(outcome: Outcome, options: argparse.Namespace, root: Path) -> int:
    """Print and write the reports; the program's own failure comes first in the exit status."""
    failed = stopped = False
    for cell, report in outcome.reports:
        rank = rank_of(report)
        whose = ", ".join([*([f"In [{cell}]"] if cell else []), *([f"rank {rank}"] if rank >= 0 else [])])
        if not options.quiet:
            print(f"--- {whose}\n{report.to_text()}" if whose else report.to_text())
        html, json = (path and own_file(path, cell=cell, rank=rank) for path in (options.html, options.json))
        for line in written(report, html=html, json=json):
            _say(line)
        failure = failure_of(report, options.fail_on)
        failed = failed or failure is not None
        stopped = stopped or isinstance(failure, NotJudgedError)
        if failure is not None and (options.quiet or isinstance(failure, NotJudgedError)):
            _say(str(failure).removeprefix("autograd_inspector: "))
    status = outcome.status or (NOT_JUDGED if stopped else int(failed))
    if options.sarif:
        rank = rank_of(outcome.reports[-1][1] if outcome.reports else None)
        _say(saved(own_file(options.sarif, rank=rank), lambda: _sarif(outcome, root, status)))
    return status


def _sarif(outcome: Outcome, root: Path, exit_code: int) -> str:
    """One log of all reports: a code host replaces what an earlier one said of the same tool."""
    from autograd_inspector.rules import CATALOGUE
    from autograd_inspector.views.sarif.log import Analysis, to_sarif

    reports = tuple(report for _, report in outcome.reports)
    return to_sarif(Analysis(reports, outcome.program, root, outcome.status, exit_code, __version__), CATALOGUE)


def _rule(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    from autograd_inspector.rules import CATALOGUE

    if options.all == bool(options.code):
        parser.error("rule: give one code, or --all")
    code_or_name = options.code or ""
    code = next((rule.code for rule in CATALOGUE.values() if rule.name == code_or_name.lower()), code_or_name.upper())
    if code_or_name and code not in CATALOGUE:
        parser.error(f"no rule {options.code!r}; there are {', '.join(sorted(CATALOGUE))}")
    for rule in (CATALOGUE[each] for each in (sorted(CATALOGUE) if options.all else [code])):
        title = f"{rule.code} {rule.name}"
        print(f"{title}\n{'=' * len(title)}\n\n{rule.page}\n")
    return 0


def _show(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    try:
        report = stored(Path(options.report))
    except StoredReportError as error:
        parser.error(str(error))
    if options.text or options.order:
        text = report.to_text() if isinstance(report, RanksReport) else report.to_text(order=options.order or "model")
        print(text)
        return 0
    try:
        for line in show(report, Path(options.html).expanduser() if options.html else None):
            print(line)
    except OSError as failure:
        parser.error(f"cannot write {options.html or 'a temporary file'}: {failure.strerror or failure}")
    return 0


def _checkpoint(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    from autograd_inspector.api.inspect_live import inspect_checkpoint

    try:
        report = inspect_checkpoint(options.file)
    except CheckpointError as error:
        parser.error(f"checkpoint: {error}")
    return _conclude(Outcome(0, ((0, report),), Path(options.file)), options, Path.cwd())


def _merge(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    merged = merge_files(map(Path, options.reports))
    for problem in merged.problems:
        _say(problem)
    if merged.report is None:
        parser.error("merge: none of the files is a report")
    print(merged.report.to_text())
    for line in written(merged.report, html=options.html, json=options.json):
        _say(line)
    failed = any(ranked.finding.severity == "error" for ranked in merged.report.findings)
    return int(failed or bool(merged.problems))


def _say(text: str) -> None:
    """Beside the program's own output."""
    print(f"autograd-inspect: {text}", file=sys.stderr)


_COMMANDS: dict[str, Callable[[argparse.ArgumentParser, argparse.Namespace], int]] = {
    "run": _run,
    "rule": _rule,
    "show": _show,
    "merge": _merge,
    "checkpoint": _checkpoint,
}


if __name__ == "__main__":
    sys.exit(main())
