"""Attributes that look as if they froze something and are plain Python attributes: ``module.requires_grad = False``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import CodeType

from torch import nn

from autograd_inspector.capture.lines.sources import tree_of
from autograd_inspector.capture.tape import Tape
from autograd_inspector.capture.torch_private.modules import own_parameters
from autograd_inspector.model.event import Change

_MISSPELT = ("require_grad", "requires_grads", "require_grads", "required_grad", "requires_gradient")


def plain_attributes(tape: Tape, root: nn.Module) -> Iterator[tuple[str, int]]:
    """(attribute, parameter concerned) of all modules and parameters that carry such an attribute."""
    for module in root.modules():
        if vars(module).get("requires_grad") is False:
            yield from (("requires_grad", tape.id_of(parameter)) for parameter in module.parameters())
        for parameter in own_parameters(module).values():
            if parameter is None:
                continue
            own = parameter.__dict__
            if own:
                yield from ((name, tape.id_of(parameter)) for name in _MISSPELT if own.get(name) is False)


def note_plain_attributes(tape: Tape, found: dict[str, dict[int, None]]) -> None:
    """Note what was found, with the line that set it."""
    effective = {tape.stacks.line_of(change.site) for change in tape.leaf_changes} if found else set()
    for name, tensors in found.items():
        sites = [site for line, site in _assignments(tape, name) if line not in effective]
        site = sites[0] if sites else -1
        tape.changes.append(Change(len(tape.ops), "plain_attribute", name, site, tuple(tensors)))


def _assignments(tape: Tape, name: str) -> Iterator[tuple[tuple[str, int], int]]:
    """((file, line), site) of every ``x.<name> = False`` in the files that the program was seen to run."""
    codes: dict[str, list[CodeType]] = {}
    for chain in list(tape.stacks.chains):
        for code, _, library in chain:
            if not library:
                codes.setdefault(code.co_filename, []).append(code)
    for filename, known in codes.items():
        tree = tree_of(filename)
        for node in ast.walk(tree) if tree is not None else ():
            if not (
                isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.value.value is False
            ):
                continue
            if any(isinstance(target, ast.Attribute) and target.attr == name for target in node.targets):
                above = [code for code in known if code.co_firstlineno <= node.lineno] or known
                best = max(above, key=lambda code: code.co_firstlineno)
                yield (filename, node.lineno), tape.stacks.of_code(best, node.lineno)
