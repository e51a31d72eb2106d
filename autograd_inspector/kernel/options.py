"""The options of the magic, parsed by IPython's own argument parser."""

from __future__ import annotations

import argparse
import re
from typing import Any, Literal

from IPython.core.error import UsageError
from IPython.core.magic_arguments import MagicArgumentParser
from msgspec import Struct
from msgspec.structs import replace

from autograd_inspector.kernel.rule_codes import codes
from autograd_inspector.kernel.spelling import spelled

MAGIC = "autograd_inspect"
_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


class Options(Struct, frozen=True):
    """What the user asked for. ``words`` is what is no option: ``on``, ``off`` or an expression."""

    words: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    optimizers: tuple[str, ...] = ()
    values: bool = False
    eager: bool = False
    ignore: tuple[str, ...] = ()
    fail_on: Literal["error", "warning"] | None = None
    html: str | None = None
    json: str | None = None
    store: str | None = None
    quiet: bool = False
    try_fixes: bool = False
    torchviz: bool = False
    help: bool = False


def _dotted(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not the name of a variable")
    return text


def _names(text: str) -> tuple[str, ...]:
    return tuple(_dotted(name) for name in text.split(","))


def _variable(text: str) -> str:
    if not text.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} is not the name of a variable")
    return text


def _file(text: str) -> str:
    # IPython's splitting leaves the quotes on.
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


DESCRIPTION = """\
Run a cell once and show what autograd recorded.

  %%autograd_inspect [options]            on top of a cell: run it, then report
  %autograd_inspect [options] EXPR        report on a live tensor, optimizer, model or report
  %autograd_inspect --torchviz EXPR       torchviz's picture, with the names of your parameters
  %autograd_inspect on [options] | off    start or stop inspecting every cell

Example, a cell whose backward fails:

  %%autograd_inspect --store report
  hidden = torch.sigmoid(encoder(x))
  loss = head(hidden).mean()
  hidden.add_(1)
  loss.backward()
"""


def _parser() -> MagicArgumentParser:
    parser = MagicArgumentParser(MAGIC, description=DESCRIPTION)
    add = parser.add_argument
    names: dict[str, Any] = {"action": "extend", "type": _names, "default": [], "metavar": "NAME"}
    add("words", nargs="*", metavar="on|off|EXPR", help="on, off, or the object to inspect")
    add("--model", **names, help="also name this model's parameters")
    add("--optimizer", **names, help="also inspect this optimizer")
    add("--values", action="store_true", help="let rules read tensor values (NaN, zero gradients)")
    add("--eager", action="store_true", help="run compiled functions uncompiled, so that every op is seen")
    add(
        "--ignore",
        action="extend",
        type=codes,
        default=[],
        metavar="CODE",
        help="drop findings: AG406 or AG1,AG4",
    )
    add(
        "--fail-on", choices=("error", "warning"), help="fail a cell that has such a finding, even if it raises nothing"
    )
    add("--html", type=_file, metavar="FILE", help="also write the report as a web page")
    add("--json", type=_file, metavar="FILE", help="also write the report as JSON")
    add("--store", type=_variable, metavar="NAME", help="put the report into this variable")
    add("--quiet", action="store_true", help="display nothing")
    add("--try-fixes", action="store_true", help="run the cell again, in a copy, with each fix")
    add("--torchviz", action="store_true", help="show torchviz's picture of EXPR")
    add("-h", "--help", action="store_true", help="show this help and run nothing")
    return parser


PARSER = _parser()
_AS_THEY_ARE = ("values", "eager", "fail_on", "html", "json", "store", "quiet", "try_fixes", "torchviz", "help")


def parse(line: str) -> Options:
    """The options of a line; raises UsageError with one line that says what is wrong, and the usage."""
    try:
        arguments: dict[str, Any] = vars(PARSER.parse_argstring(line))
    except (UsageError, ValueError) as mistake:
        raise mistaken(spelled(str(mistake), PARSER)) from None
    if arguments["words"] and arguments["try_fixes"]:
        raise mistaken(f"--try-fixes needs a cell to run again: %%{MAGIC} --try-fixes")
    return Options(
        words=tuple(arguments["words"]),
        models=tuple(arguments["model"]),
        optimizers=tuple(arguments["optimizer"]),
        ignore=tuple(arguments["ignore"]),
        **{name: arguments[name] for name in _AS_THEY_ARE},
    )


def parse_header(line: str) -> Options:
    """The options on top of a cell, where nothing but options makes sense."""
    options = parse(line)
    if options.words and not options.help:
        raise mistaken(f"on top of a cell only options are understood, not {' '.join(options.words)!r}")
    if options.torchviz and not options.help:
        raise mistaken("--torchviz needs an expression: %autograd_inspect --torchviz loss")
    return options


def mistaken(message: str) -> UsageError:
    """IPython prints a UsageError as one line, without a traceback, and the cell counts as failed."""
    return UsageError(f"{MAGIC}: {message}\n{_plain(PARSER.format_usage())}")


def usage() -> str:
    """What the magic understands, option by option."""
    return _plain(PARSER.format_help())


def _plain(text: str) -> str:
    """IPython formats for reStructuredText."""
    return "usage: " + text.replace("::\n\n", "").strip() + "\n"


def silent(options: Options) -> Options:
    """The same, displaying nothing."""
    return replace(options, quiet=True)
