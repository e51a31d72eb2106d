"""All options: of the magic and the command line from their parsers, of the trainers' callbacks from their type."""

from __future__ import annotations

import argparse
import inspect
import typing
from collections.abc import Iterator

from autograd_inspector.frontends.cli.parser import RANKS, STATUSES, parser_of
from autograd_inspector.integrations.options import Options
from autograd_inspector.kernel.options import DESCRIPTION, PARSER
from scripts.docs.markdown import block, code, escaped, table

_HEADS = ("option", "does")


def magic_page() -> str:
    """`%%autograd_inspect`, and its line form."""
    return (
        f"# Options of the magic\n\n{block('text', DESCRIPTION)}\n{_table(PARSER)}\n"
        "How they are used: [](../guide/notebook.md). In a notebook `%%autograd_inspect --help` and "
        "`%autograd_inspect?` print this.\n"
    )


def cli_page() -> str:
    """Each command of `autograd-inspect`."""
    parser = parser_of()
    parts = ["# Options of the command line\n", f"{escaped(parser.description or '')}\n", _table(parser)]
    for command, its, said in _commands(parser):
        parts.append(f"## autograd-inspect {command}\n")
        parts.append(f"{escaped(_sentence(its.description or said))}\n")
        parts.append(block("text", its.format_usage().removeprefix("usage: ")))
        parts.append(_table(its))
    parts.append(f"## Exit status and ranks\n\n{block('text', STATUSES)}\n{block('text', RANKS)}")
    return "\n".join(parts)


def callback_page() -> str:
    """What Lightning's, transformers' and accelerate's integrations take."""
    types = Options.__annotations__
    rows = [(code(f"{name}="), code(_shown(type_))) for name, type_ in types.items()]
    _, *paragraphs = inspect.cleandoc(Options.__doc__ or "").split("\n\n")
    said = "\n\n".join(paragraph.replace(":class:`.WithinBudget`", "below") for paragraph in paragraphs)
    said = said.replace("``", "`")
    return f"# Options of the callbacks\n\n{CALLBACKS}\n{table(('option', 'type'), rows)}\n{_items(said)}\n{WITHIN}"


CALLBACKS = """\
The Lightning callback, the transformers / trl callback and accelerate's `AutogradInspector` take the same keywords:
[](../guide/trainers.md) shows where they go.
"""
WITHIN = """\
With `every="auto"`, the callback inspects the first two steps, then as many as the budget allows. It also inspects the
step after one whose graph has a new size, and the step after one with a new finding.
"""


def _items(text: str) -> str:
    """The docstring's lines, each sentence group that begins with a name as an item."""
    lines: list[str] = []
    for line in text.split("\n"):
        lines += [f"- {line}"] if line.startswith("`") else [f"  {line}"]
    return "\n".join(lines) + "\n"


def _shown(type_: object) -> str:
    text = getattr(type_, "__forward_arg__", None) or (type_.__name__ if isinstance(type_, type) else str(type_))
    return str(text).replace("typing.", "")


def _commands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser, str]]:
    for action in parser._actions:  # noqa: SLF001 - argparse shows its parsers only so
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            said = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001
            yield from ((name, command, said[name]) for name, command in action.choices.items())


def _table(parser: argparse.ArgumentParser) -> str:
    shown = [action for action in parser._actions if action.help not in {argparse.SUPPRESS, None}]  # noqa: SLF001
    return table(_HEADS, [(code(_spelled(action)), _explained(action)) for action in shown])


def _spelled(action: argparse.Action) -> str:
    """``--width N``, ``-h, --help``, ``program``."""
    value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else "")
    value = " ".join(value) if isinstance(value, tuple) else value
    if not action.option_strings:
        return value or action.dest
    return f"{', '.join(action.option_strings)} {value}".strip()


def _explained(action: argparse.Action) -> str:
    said = escaped(_sentence((action.help or "").replace("%(prog)s", "autograd-inspect")))
    plain = action.default in {None, False, argparse.SUPPRESS} if isinstance(action.default, typing.Hashable) else True
    return said if plain else f"{said} Default: `{action.default}`."


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""
