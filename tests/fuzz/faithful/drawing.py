"""Draws a program: every choice is random, and each program mixes several kinds."""

from __future__ import annotations

from random import Random

from .leaves import LEAVES
from .scopes import SCOPES
from .statement import Program, Statement, source_of

_ORDINARY = ("op", "op", "parameter op", "parameter op", "module", "backward", "step")
_DEEPEST = 3
_RECOMPUTED = "in a checkpoint"
_NOT_RECOMPUTED = "backward"
"""While autograd reads a node, what a checkpoint recomputes for it may not run through that node: torch would hang."""


def program_of(random: Random, longest: int = 7) -> Program:
    """One program."""
    themes = _apart(random.sample([*LEAVES, *SCOPES], k=random.randint(2, 5)))
    before = tuple(_outside(random) for _ in range(random.choice((0, 0, 1, 2))))
    inside = tuple(_statement(random, themes, 0) for _ in range(random.randint(2, longest)))
    after = tuple(_outside(random) for _ in range(random.choice((0, 0, 1))))
    return Program(before, inside, after, values=random.randrange(3) == 0)


def _apart(themes: list[str]) -> tuple[str, ...]:
    """A copy of a fake tensor copies its mode, whose references to storages are then freed twice (torch 2.13)."""
    return tuple(theme for theme in themes if theme != "copied" or "fake tensors" not in themes)


def _outside(random: Random) -> Statement:
    """What happens before or after the block: the same warning, a mode that is left inside, a filter."""
    return _leaf(random, random.choice(("mode left open", "filter", "warning", "setting", "tensor hook", "op")))


def _statement(random: Random, themes: tuple[str, ...], depth: int) -> Statement:
    kind = random.choice((*themes, *themes, *_ORDINARY))
    if kind in LEAVES:
        leaf = _leaf(random, kind)
        return leaf if random.randrange(3) else _caught(leaf)
    if depth == _DEEPEST:
        return _leaf(random, random.choice(_ORDINARY))
    body = tuple(_statement(random, themes, depth + 1) for _ in range(random.randint(1, 3)))
    if kind == _RECOMPUTED:
        body = tuple(each for each in body if _NOT_RECOMPUTED not in source_of((each,))) or (_leaf(random, "op"),)
    return Statement(kind, _filled(random, random.choice(SCOPES[kind])), body)


def _caught(statement: Statement) -> Statement:
    return Statement("caught", SCOPES["caught"][0], (statement,))


def _leaf(random: Random, kind: str) -> Statement:
    return Statement(kind, _filled(random, random.choice(LEAVES[kind])))


def _filled(random: Random, text: str) -> str:
    names = {
        "{v}": random.choice(("v0", "v1", "v2")),
        "{a}": random.choice(("v0", "v1", "v2", "x0")),
        "{b}": random.choice(("v0", "v1", "v2", "x0")),
        "{w}": random.choice(("w0", "w1")),
        "{n}": str(random.randint(1, 4)),
        "{flag}": random.choice(("True", "False")),
    }
    for mark, value in names.items():
        text = text.replace(mark, value)
    return text
