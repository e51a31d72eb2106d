"""What the magic, the command line and the pytest plugin all understand: rule codes."""

from __future__ import annotations

import argparse
import re

_CODE = re.compile(r"AG\d{1,3}")


def codes(text: str) -> tuple[str, ...]:
    """``AG406,AG1,detached``: rule codes, their beginnings, or rule names, as codes; raises ArgumentTypeError."""
    return tuple(_code(given.strip()) for given in text.split(",") if given.strip())


def _code(given: str) -> str:
    from autograd_inspector.rules import CATALOGUE

    named = [rule.code for rule in CATALOGUE.values() if rule.name == given.lower()]
    code = named[0] if named else given.upper()
    if not _CODE.fullmatch(code):
        raise argparse.ArgumentTypeError(f"{given!r} is not a rule code such as AG406, nor the beginning of one")
    if not any(known.startswith(code) for known in CATALOGUE):
        raise argparse.ArgumentTypeError(f"there is no rule {given!r}; `autograd-inspect rule --all` lists them")
    return code
