"""The command line's grammar."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Sequence
from typing import NoReturn

from autograd_inspector import __version__
from autograd_inspector.capture.native import compiled
from autograd_inspector.frontends.cli.outcome import UNABLE
from autograd_inspector.kernel.rule_codes import codes
from autograd_inspector.kernel.spelling import spelled
from autograd_inspector.views.text.terminal import NARROWEST

STATUSES = """\
exit status
  0    ok: the program ended with 0, without a finding as severe as --fail-on (an error, by default)
  121  findings: one or more as severe as --fail-on, however the program ended
  122  not-judged: the program ended with 0, but the inspector failed and stopped recording
  125  unable: a wrong option, no such file, a file that is not a report; nothing was run
  130  interrupted
  n    program: its own status is passed through, as 1 after an exception, or the n of sys.exit(n)
Your program may also return these numbers. The last line on stderr says which case it was
("autograd-inspect: exit=findings (121): ..."). For scripts, --status-file FILE has lines such as exit=findings,
code=121, program=0, errors=1, rules=AG202. The file is emptied before the program starts and written after it ends:
if a signal or os._exit() ends the program, it stays empty.
merge: 121 an error finding on some rank, 125 a file that could not be read (the others are merged)
"""
RANKS = """\
several ranks
  torchrun --nproc-per-node 2 -m autograd_inspector run --json report.json train.py
  writes report-rank0.json and report-rank1.json (--html and --sarif likewise). Rank 0 merges them into report.json
  when the ranks have ended, and fails with 121 for a finding on any of them. Of ranks that died or hang,
  autograd-inspect merge report-rank*.json merges the reports that exist
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Not argparse's 2, which programs use as well."""
        self.print_usage(sys.stderr)
        self.exit(UNABLE, f"{self.prog}: error: {_without_run(message) or spelled(message, self)}\n")


def parsed(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> argparse.Namespace:
    """What was asked for; an option that does not exist is an error of the command that got it: it knows its own."""
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        _command_of(parser, options.command).error(f"unrecognized arguments: {' '.join(unknown)}")
    return options


def misplaced(options: argparse.Namespace, parser: argparse.ArgumentParser) -> str:
    """Which options of `run` stand behind the program's name, so that the program got them; "" where none does."""
    own = {name for action in _command_of(parser, "run")._actions for name in action.option_strings}  # noqa: SLF001
    names = [word for word in options.arguments if word.startswith("--") and word.partition("=")[0] in own]
    if not names:
        return ""
    return f"{names[0]} follows {options.program}, so the program gets it: options of autograd-inspect come before"


def _without_run(message: str) -> str:
    """What is wrong where a program stands in the place of the command; "" for any other message."""
    program = re.search(r"invalid choice: '([^']+\.(?:py|ipynb))'", message)
    return f"{program[1]} is not a command; did you mean 'autograd-inspect run {program[1]}'?" if program else ""


def _command_of(parser: argparse.ArgumentParser, command: str) -> argparse.ArgumentParser:
    groups = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]  # noqa: SLF001
    return next((group.choices[command] for group in groups if command in group.choices), parser)


def _recording() -> str:
    native, reason = compiled()
    return f"records in Python ({reason})" if native is None else "records in C"


def parser_of() -> argparse.ArgumentParser:
    """The parser; ``command`` of what it parses is the command's name."""
    parser = _Parser(
        prog="autograd-inspect",
        description="Run a program once and show, on stderr, what autograd recorded.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=STATUSES,
    )
    parser.add_argument("--version", action="version", version=f"autograd-inspect {__version__}, {_recording()}")
    commands = parser.add_subparsers(required=True, metavar="run | rule | show | merge | checkpoint", dest="command")
    _run(commands)
    rule = commands.add_parser("rule", help="explain a rule")
    rule.add_argument("code", nargs="?", help="AG201, or its name saved-tensor-modified")
    rule.add_argument("--all", action="store_true", help="explain every rule")
    _show(commands)
    merge = commands.add_parser("merge", help="merge the reports that ranks wrote with --json: one column per rank")
    _files(merge)
    _look(merge)
    merge.add_argument("reports", nargs="+", metavar="report", help="rank0.json rank1.json ...")
    checkpoint = commands.add_parser("checkpoint", help="show what a checkpoint contains, without loading it")
    _files(checkpoint)
    _look(checkpoint)
    checkpoint.add_argument("file", help="checkpoint.pt, model.safetensors, or a folder of shards")
    checkpoint.set_defaults(quiet=False, fail_on="error", sarif=None)
    return parser


def _run(commands: argparse._SubParsersAction[_Parser]) -> None:
    run = commands.add_parser(
        "run",
        help="inspect a script, a module or a notebook",
        usage="autograd-inspect run [options] (script.py | notebook.ipynb | -m module) [arguments ...]",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"{STATUSES}\n{RANKS}",
    )
    run.add_argument("--values", action="store_true", help="let rules read tensor values (NaN, zero gradients)")
    run.add_argument("--eager", action="store_true", help="run compiled functions uncompiled, so that every op is seen")
    run.add_argument(
        "--ignore", action="extend", type=codes, default=[], metavar="CODE", help="drop findings: AG406 or AG1,AG4"
    )
    run.add_argument(
        "--fail-on", choices=("error", "warning"), default="error", help="findings that fail the run (error)"
    )
    run.add_argument(
        "--timeout",
        type=_seconds,
        default=60.0,
        metavar="SECONDS",
        help="with several ranks: a rank that stays at one line this long says what it waits for, also in --json (60)",
    )
    _files(run)
    run.add_argument("--sarif", metavar="FILE", help="also write the findings as SARIF 2.1.0, for code hosts")
    fixes = run.add_argument_group("fixes", "Edits of the program that cure a finding.")
    fixes.add_argument(
        "--try-fixes",
        action="store_true",
        help="run the program again with each fix, in a separate process; your files are not modified",
    )
    fixes.add_argument(
        "--diff",
        action="store_true",
        help="print on stdout, as a patch, what --fix would change; what the program prints goes to stderr",
    )
    fixes.add_argument("--fix", action="store_true", help="make the safe edits in the program's files")
    fixes.add_argument(
        "--unsafe-fixes",
        action="store_true",
        help="with --diff or --fix: include edits that may change what the program does",
    )
    run.add_argument("--overlay", help=argparse.SUPPRESS)
    run.add_argument("--status-file", metavar="FILE", help="also write the outcome of the run, for scripts")
    run.add_argument("--quiet", action="store_true", help="print only the program's output and errors")
    _look(run)
    run.add_argument("-m", action="store_true", dest="module", help="a module follows, run as python -m runs it")
    run.add_argument("program", help="script.py, notebook.ipynb, or with -m a module")
    rest = run.add_argument("arguments", nargs=argparse.REMAINDER, help="the program's own arguments")
    rest.required = False  # Python 3.11 calls them missing, too, when the program is


def _show(commands: argparse._SubParsersAction[_Parser]) -> None:
    show = commands.add_parser(
        "show",
        help="open a report that was written with --json",
        description="Open a report that was written with --json as an interactive page in the browser.",
        epilog=textwrap.fill("If no browser can be opened, the command prints where the page is."),
    )
    show.add_argument("report", help="report.json")
    show.add_argument("--html", metavar="FILE", help="keep the page there (else in a temporary file)")
    show.add_argument("--text", action="store_true", help="print the report instead")
    _look(show)
    show.add_argument(
        "--order",
        choices=("model", "bytes"),
        help="print the report with this order of the placement table: as in the model, or the largest first",
    )


def _look(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="auto: in a terminal; NO_COLOR, FORCE_COLOR and TERM=dumb are heeded",
    )
    command.add_argument(
        "--width", type=_columns, metavar="N", help="columns of the text (the terminal's; 100 in a file or a pipe)"
    )


def _columns(text: str) -> int:
    if not text.isdigit() or int(text) < NARROWEST:
        raise argparse.ArgumentTypeError(f"{text!r}: write a whole number, {NARROWEST} or more")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r}: write a positive number of seconds")
    return seconds


def _files(command: argparse.ArgumentParser) -> None:
    command.add_argument("--html", metavar="FILE", help="also write the report as a static web page")
    command.add_argument("--json", metavar="FILE", help="also write the report as JSON")
