"""The command line's grammar."""

from __future__ import annotations

import argparse
import textwrap

from autograd_inspector import __version__
from autograd_inspector.kernel.rule_codes import codes

STATUSES = """\
exit status
  0    healthy: the program ran well, with no finding as severe as --fail-on (an error, unless told otherwise)
  1    a finding as severe as --fail-on, or the program failed
  2    bad usage: a wrong option, no such file, a file that is not a report; nothing was run
  3    not judged: the inspector itself failed and stopped recording, while the program ran well
  130  interrupted
  n    the program's own: a script or module that calls sys.exit(n), n not 0, keeps its n
merge: 1 an error finding on some rank, or a file that could not be read (the others are merged)
"""
RANKS = """\
several ranks
  torchrun --nproc-per-node 2 -m autograd_inspector run --json report.json train.py
  writes report-rank0.json and report-rank1.json (--html and --sarif likewise), and
  autograd-inspect merge report-rank*.json makes one report of them
"""


def parser_of() -> argparse.ArgumentParser:
    """The parser; ``command`` of what it parses is the command's name."""
    parser = argparse.ArgumentParser(
        prog="autograd-inspect",
        description="Run a program once and show what autograd recorded.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=STATUSES,
    )
    parser.add_argument("--version", action="version", version=f"autograd-inspect {__version__}")
    commands = parser.add_subparsers(required=True, metavar="run | rule | show | merge | checkpoint", dest="command")
    _run(commands)
    rule = commands.add_parser("rule", help="explain a rule")
    rule.add_argument("code", nargs="?", help="AG201, or its name saved-tensor-modified")
    rule.add_argument("--all", action="store_true", help="explain every rule")
    _show(commands)
    merge = commands.add_parser("merge", help="one report of those that ranks wrote with --json: a column a rank")
    _files(merge)
    merge.add_argument("reports", nargs="+", metavar="report", help="rank0.json rank1.json ...")
    checkpoint = commands.add_parser("checkpoint", help="tell what a checkpoint holds; nothing of it is run or loaded")
    _files(checkpoint)
    checkpoint.add_argument("file", help="checkpoint.pt, model.safetensors, or a folder of shards")
    checkpoint.set_defaults(quiet=False, fail_on="error", sarif=None)
    return parser


def _run(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    run = commands.add_parser(
        "run",
        help="inspect a script, a module or a notebook",
        usage="autograd-inspect run [options] (script.py | notebook.ipynb | -m module) [arguments ...]",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"{STATUSES}\n{RANKS}",
    )
    run.add_argument("--values", action="store_true", help="let rules read tensor values (NaN, zero gradients)")
    run.add_argument(
        "--ignore", action="extend", type=codes, default=[], metavar="CODE", help="drop findings: AG406 or AG1,AG4"
    )
    run.add_argument(
        "--fail-on", choices=("error", "warning"), default="error", help="findings that fail the run (error)"
    )
    _files(run)
    run.add_argument("--sarif", metavar="FILE", help="also write the findings as SARIF 2.1.0, for code hosts")
    run.add_argument("--quiet", action="store_true", help="print no report")
    run.add_argument("-m", action="store_true", dest="module", help="a module follows, run as python -m runs it")
    run.add_argument("program", help="script.py, notebook.ipynb, or with -m a module")
    rest = run.add_argument("arguments", nargs=argparse.REMAINDER, help="the program's own arguments")
    rest.required = False  # Python 3.11 calls them missing, too, when the program is


def _show(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    show = commands.add_parser(
        "show",
        help="open a report that was written with --json",
        description="Open a report that was written with --json as an interactive page in the browser.",
        epilog=textwrap.fill("Where there is no browser to open, it says where the page is."),
    )
    show.add_argument("report", help="report.json")
    show.add_argument("--html", metavar="FILE", help="keep the page there (else in a temporary file)")
    show.add_argument("--text", action="store_true", help="print the report instead")
    show.add_argument(
        "--order",
        choices=("model", "bytes"),
        help="print the report, its placement table in that order: as in the model, or the largest first",
    )


def _files(command: argparse.ArgumentParser) -> None:
    command.add_argument("--html", metavar="FILE", help="also write the report as a web page")
    command.add_argument("--json", metavar="FILE", help="also write the report as JSON")
