"""A setting that is written in several places: as a keyword argument, or in a dict of them."""

from __future__ import annotations

import ast

from autograd_inspector.edits.program import Program, end_of, start_of
from autograd_inspector.model.edit import Edit
from autograd_inspector.model.remedy import SetEverywhere


def set_everywhere(program: Program, remedy: SetEverywhere) -> list[Edit]:
    """``use_reentrant=False`` for True, and ``{"use_reentrant": False}``."""
    found = [value for node in program.source.nodes for value in _values(node, remedy.name)]
    return [
        program.edit(start_of(value), end_of(value), remedy.new)
        for value in found
        if program.written(value) == remedy.old
    ]


def _values(node: ast.AST, name: str) -> list[ast.expr]:
    """What a call or a dict gives that name."""
    match node:
        case ast.Call(keywords=keywords):
            return [keyword.value for keyword in keywords if keyword.arg == name]
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return [value for key, value in pairs if isinstance(key, ast.Constant) and key.value == name]
    return []
