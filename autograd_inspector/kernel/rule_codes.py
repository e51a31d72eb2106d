"""What the magic, the command line and the pytest plugin all understand: rule codes."""

from __future__ import annotations

import argparse
import re

from autograd_inspector.kernel.spelling import did_you_mean

_CODE = re.compile(r"AG\d{1,3}")


def codes(text: str) -> tuple[str, ...]:
    """``AG406,AG1,detached``: rule codes, their beginnings, or rule names, as codes; raises ArgumentTypeError."""
    return tuple(_code(part.strip()) for part in text.split(",") if part.strip())


def _code(text: str) -> str:
    from autograd_inspector.rules import CATALOGUE

    named = [rule.code for rule in CATALOGUE.values() if rule.name == text.lower()]
    code = named[0] if named else text.upper()
    if not _CODE.fullmatch(code):
        hint = did_you_mean(text, (rule.name for rule in CATALOGUE.values()))
        raise argparse.ArgumentTypeError(f"unknown rule code or prefix: {text!r} (example: AG406){hint}")
    if not any(rule_code.startswith(code) for rule_code in CATALOGUE):
        raise argparse.ArgumentTypeError(missing(text))
    return code


def missing(text: str) -> str:
    """That there is no such rule, with the nearest name or how to see them all."""
    from autograd_inspector.rules import CATALOGUE

    named = {rule.name: rule.code for rule in CATALOGUE.values()}
    hint = did_you_mean(text, named) or "; `autograd-inspect rule --all` lists them"
    return f"there is no rule {text!r}{hint}"
