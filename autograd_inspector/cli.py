"""``autograd-inspect``: the inspector in a terminal and in CI."""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path

from autograd_inspector.arguments import codes, numbered, written
from autograd_inspector.failure import failure_of
from autograd_inspector.gathered import RanksReport
from autograd_inspector.model.checkpoint import CheckpointError
from autograd_inspector.report import Report
from autograd_inspector.terminal.merge import merge_files
from autograd_inspector.terminal.notebook import NotebookError, run_notebook
from autograd_inspector.terminal.script import Outcome, run_script

BAD_USAGE = 2


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit status: 1 an error finding or a failed program, 2 bad usage."""
    parser = _parser()
    options = parser.parse_args(arguments)
    status: int = options.command(parser, options)
    return status


def _run(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    path = Path(options.program)
    if not path.is_file():
        parser.error(f"no such file: {path}")
    if path.suffix == ".ipynb":
        if options.arguments:
            parser.error("a notebook takes no arguments")
        try:
            outcome = run_notebook(path, values=options.values, ignore=options.ignore)
        except NotebookError as error:
            parser.error(str(error))
    else:
        outcome = run_script(path, options.arguments, values=options.values, ignore=options.ignore)
    return _conclude(outcome, options)


def _conclude(outcome: Outcome, options: argparse.Namespace) -> int:
    """Print and write the reports; the program's own failure comes first in the exit status."""
    failed = False
    for cell, report in outcome.reports:
        if not options.quiet:
            print(f"--- In [{cell}]\n{report.to_text()}" if cell else report.to_text())
        html, json = (path and numbered(path, cell) for path in (options.html, options.json))
        for said in written(report, html=html, json=json):
            print(f"autograd-inspect: {said}", file=sys.stderr)
        failed = failed or failure_of(report, options.fail_on) is not None
    return outcome.status or int(failed)


def _rule(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    from autograd_inspector.rules import CATALOGUE

    if options.all == bool(options.code):
        parser.error("rule: give one code, or --all")
    code = (options.code or "").upper()
    if options.code and code not in CATALOGUE:
        parser.error(f"no rule {options.code!r}; there are {', '.join(sorted(CATALOGUE))}")
    for rule in (CATALOGUE[each] for each in (sorted(CATALOGUE) if options.all else [code])):
        title = f"{rule.code} {rule.name}"
        print(f"{title}\n{'=' * len(title)}\n\n{rule.page}\n")
    return 0


def _show(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    try:
        report = Report.from_json(Path(options.report).read_text("utf-8"))
    except (OSError, ValueError) as error:
        merged = _merged_before(options.report)
        if merged is None:
            parser.error(f"{options.report}: {getattr(error, 'strerror', None) or error}")
        print(merged.to_text())
        return 0
    print(report.to_text(order=options.order))
    return 0


def _merged_before(path: str) -> RanksReport | None:
    """What `merge --json` wrote, None where the file is no such report."""
    try:
        return RanksReport.from_json(Path(path).read_bytes())
    except (OSError, ValueError):
        return None


def _checkpoint(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    from autograd_inspector.live import inspect_checkpoint

    try:
        report = inspect_checkpoint(options.file)
    except CheckpointError as error:
        parser.error(f"checkpoint: {error}")
    return _conclude(Outcome(0, ((0, report),)), options)


def _merge(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    merged = merge_files(map(Path, options.reports))
    for problem in merged.problems:
        print(f"autograd-inspect: {problem}", file=sys.stderr)
    if merged.report is None:
        parser.error("merge: none of the files is a report")
    print(merged.report.to_text())
    for said in written(merged.report, html=options.html, json=options.json):
        print(f"autograd-inspect: {said}", file=sys.stderr)
    failed = any(found.finding.severity == "error" for found in merged.report.findings)
    return int(failed or bool(merged.problems))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="autograd-inspect",
        description="Run a program once and show what autograd recorded.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=textwrap.dedent("""\
            exit status: 0 no error finding; 1 an error finding, or the program failed;
            2 bad usage; a script that calls sys.exit(n) keeps its n;
            merge: 1 an error finding on some rank, or a file that could not be read (the others are merged)
            """),
    )
    commands = parser.add_subparsers(required=True, metavar="run | rule | show | merge | checkpoint")
    run = commands.add_parser("run", help="inspect a script or a notebook")
    run.add_argument("--values", action="store_true", help="let rules read tensor values (NaN, zero gradients)")
    run.add_argument(
        "--ignore",
        action="extend",
        type=codes,
        default=[],
        metavar="CODE",
        help="drop findings: AG406 or AG1,AG4",
    )
    run.add_argument(
        "--fail-on", choices=("error", "warning"), default="error", help="findings that fail the run (error)"
    )
    run.add_argument("--html", metavar="FILE", help="also write the report as a web page")
    run.add_argument("--json", metavar="FILE", help="also write the report as JSON")
    run.add_argument("--quiet", action="store_true", help="print no report")
    run.add_argument("program", help="script.py or notebook.ipynb")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own arguments")
    run.set_defaults(command=_run)
    rule = commands.add_parser("rule", help="explain a rule")
    rule.add_argument("code", nargs="?", help="AG201")
    rule.add_argument("--all", action="store_true", help="explain every rule")
    rule.set_defaults(command=_rule)
    show = commands.add_parser("show", help="print a report that was written with --json")
    show.add_argument("report", help="report.json")
    show.add_argument(
        "--order", choices=("model", "bytes"), default="model", help="of the placement table: the largest first (model)"
    )
    show.set_defaults(command=_show)
    merge = commands.add_parser("merge", help="one report of those that ranks wrote with --json: a column a rank")
    merge.add_argument("--html", metavar="FILE", help="also write it as a web page")
    merge.add_argument("--json", metavar="FILE", help="also write it as JSON")
    merge.add_argument("reports", nargs="+", metavar="report", help="rank0.json rank1.json ...")
    merge.set_defaults(command=_merge)
    checkpoint = commands.add_parser("checkpoint", help="tell what a checkpoint holds; nothing of it is run or loaded")
    checkpoint.add_argument("--html", metavar="FILE", help="also write the report as a web page")
    checkpoint.add_argument("--json", metavar="FILE", help="also write the report as JSON")
    checkpoint.add_argument("file", help="checkpoint.pt, model.safetensors, or a folder of shards")
    checkpoint.set_defaults(command=_checkpoint, quiet=False, fail_on="error")
    return parser


if __name__ == "__main__":
    sys.exit(main())
