"""A mistyped word of the user's, beside the one that was probably meant."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from difflib import get_close_matches

_UNKNOWN = re.compile(r"unrecognized arguments:.*?(-{1,2}[\w-]+)")
_CHOICE = re.compile(r"invalid choice: '(?P<word>[^']*)' \(choose from (?P<choices>.*)\)")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``; did you mean '--values'?``, or "" where nothing is spelled like it."""
    nearest = get_close_matches(word.lower(), list(known), n=1)
    return f"; did you mean {nearest[0]!r}?" if nearest else ""


def spelled(message: str, parser: argparse.ArgumentParser) -> str:
    """What argparse says about a mistyped option or choice, with the right spelling."""
    unknown, choice = _UNKNOWN.search(message), _CHOICE.search(message)
    if unknown is not None:
        options = [name for action in _shown(parser) for name in action.option_strings]
        return message + (did_you_mean(unknown[1], options) or f"; {parser.prog} --help explains the options")
    if choice is not None:
        return message + did_you_mean(choice["word"], re.findall(r"[\w-]+", choice["choices"]))
    return message


def _shown(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    actions = parser._actions  # noqa: SLF001 - argparse tells its options only so
    return [action for action in actions if action.help is not argparse.SUPPRESS]
