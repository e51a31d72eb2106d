"""Other names for variables and for modules."""

from __future__ import annotations

import ast
from itertools import count
from random import Random

from .scopes import Function, outermost, variables

TRAPS = (
    "inference_net", "opt", "log_prob", "detached", "no_grad", "optimizer", "frozen", "loss_item", "info", "config",
    "deepcopy_of", "clone", "weight", "grad", "scaler", "step", "zero", "sample", "state", "ema", "target_net",
)  # fmt: skip


class _Renaming(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self._names.get(node.id, node.id)
        return node


def renamed(tree: ast.Module, _random: Random) -> ast.Module:
    """Each variable of a function gets a name that says nothing."""
    for function in outermost(tree):
        names = sorted(variables(function, tree))
        _Renaming({name: f"zq{number}" for number, name in enumerate(names)}).visit(function)
    return tree


def trapped(tree: ast.Module, random: Random) -> ast.Module:
    """Each variable gets a name that a reader would take for something else."""
    taken = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} | _spelled(tree)
    for function in outermost(tree):
        traps = [*TRAPS]
        random.shuffle(traps)
        free = (name for turn in count() for trap in traps if (name := trap + "_" * turn) not in taken)
        _Renaming({name: next(free) for name in sorted(variables(function, tree))}).visit(function)
    return tree


def _spelled(tree: ast.Module) -> set[str]:
    return {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


def aliased(tree: ast.Module, _random: Random) -> ast.Module:
    """`import torch as th`: torch's modules go by other names."""
    names: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                whole = alias.name if isinstance(node, ast.Import) else f"{node.module}.{alias.name}"
                if whole in {"torch", "torch.nn", "torch.nn.functional", "numpy", "copy", "math"}:
                    old = alias.asname or alias.name
                    if "." not in old:
                        names[old] = alias.asname = f"{old.lower()}x"
    bound = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    bound |= {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    bound |= {node.name for node in ast.walk(tree) if isinstance(node, Function | ast.ClassDef)}
    if bound.isdisjoint(names):
        _Renaming(names).visit(tree)
        return tree
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                for old, new in names.items():
                    if alias.asname == new:
                        alias.asname = old
    return tree
