"""What the expressions of a program evaluate to when it runs: a fault is planted where it can be one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from .running import loaded, quietly, seeded

PROBE = "__probe__"


@dataclass
class Fact:
    """Of one expression's values, over all its evaluations."""

    kind: str = ""
    """tensor, module, optimizer or schedule; "" for anything else, and where it is not always the same."""
    times: int = 0
    differentiable: bool = False
    """Some value requires grad while gradients are recorded."""
    always: bool = False
    """Every value does."""
    arrives: bool = False
    """Some backward brings a value a gradient: what cuts another (in ``ones_like(u)``, before argmin) cuts nothing."""
    dtype: str = ""
    leaf: bool = False
    floating: bool = False
    scalar: bool = False
    parameter: bool = False
    dim: int = 0
    frozen: bool = False
    """A module without a parameter that requires grad, though it has parameters."""
    children: tuple[str, ...] = ()
    """A module's submodules that have a parameter that requires grad, in the order of their registration."""
    own: tuple[str, ...] = ()
    """The parameters of a module and of its submodules that require grad."""
    type: str = ""
    """A module's class."""
    modes: bool = False
    """A module with a part that behaves otherwise in evaluation."""

    def meet(self, value: Any) -> None:
        """Take one more value into account."""
        first = self.times == 0
        self.times += 1
        kind = next((name for name, type_ in _KINDS.items() if isinstance(value, type_)), "")
        self.kind = kind if first or kind == self.kind else ""
        if self.kind == "tensor":
            self._meet_tensor(value, first=first)
        elif self.kind == "module":
            self._meet_module(value)

    def _meet_tensor(self, value: Tensor, *, first: bool) -> None:
        self.floating = value.is_floating_point()
        self.dtype = str(value.dtype).removeprefix("torch.")
        recorded = value.requires_grad and torch.is_grad_enabled()
        self.differentiable |= recorded
        self.always = recorded and (first or self.always)
        if recorded and not value.is_leaf:
            value.register_hook(self._arrived)
        self.leaf = value.is_leaf and (first or self.leaf)
        self.scalar = value.numel() == 1 and (first or self.scalar)
        self.parameter |= isinstance(value, nn.Parameter)
        self.dim = max(self.dim, value.dim())

    def _arrived(self, _: Tensor) -> None:
        self.arrives = True

    def _meet_module(self, value: nn.Module) -> None:
        self.type = type(value).__name__
        own = [name for name, each in value.named_parameters() if each.requires_grad]
        self.own = tuple(own)
        self.frozen = not own and any(True for _ in value.parameters())
        self.children = tuple(
            name for name, child in value.named_children() if any(each.requires_grad for each in child.parameters())
        )
        self.modes = any(isinstance(each, _OTHERWISE) for each in value.modules())


_KINDS: dict[str, type] = {
    "tensor": Tensor,
    "module": nn.Module,
    "optimizer": torch.optim.Optimizer,
    "schedule": torch.optim.lr_scheduler.LRScheduler,
}
_OTHERWISE = (nn.modules.batchnorm._BatchNorm, nn.modules.dropout._DropoutNd)


def expressions(tree: ast.Module) -> Iterator[ast.expr]:
    """The expressions that are evaluated for their value, always in the same order."""
    left: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            left.update(id(each) for each in _heads(node))
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            left.update(id(each) for each in ast.walk(node.annotation))
        if isinstance(node, ast.JoinedStr):
            left.update(id(each) for each in ast.walk(node))
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.expr)
            and id(node) not in left
            and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
            and not isinstance(node, ast.Slice | ast.Starred | ast.Constant | ast.Lambda | ast.NamedExpr | ast.Yield)
            and not (isinstance(node, ast.Tuple) and any(isinstance(each, ast.Slice) for each in node.elts))
        ):
            yield node


def _heads(node: ast.FunctionDef | ast.ClassDef | ast.Lambda) -> Iterator[ast.AST]:
    heads: list[ast.AST] = []
    if isinstance(node, ast.FunctionDef):
        heads = [*node.decorator_list, node.args, *([node.returns] if node.returns else [])]
    elif isinstance(node, ast.ClassDef):
        heads = [*node.decorator_list, *node.bases, *node.keywords]
    for head in heads:
        yield from ast.walk(head)


class _Wrapping(ast.NodeTransformer):
    def __init__(self, numbers: dict[int, int]) -> None:
        self.numbers = numbers

    def visit(self, node: ast.AST) -> Any:
        number = self.numbers.get(id(node))
        visited = self.generic_visit(node)
        if number is None:
            return visited
        return ast.Call(ast.Name(PROBE, ast.Load()), [ast.Constant(number), visited], [])


def probed(text: str, path: str) -> list[dict[str, Any]]:
    """Run a program; the facts of its expressions, in their order. To be called in a fork."""
    tree = ast.parse(text)
    numbered = list(expressions(tree))
    facts = [Fact() for _ in numbered]

    def probe(number: int, value: Any) -> Any:
        facts[number].meet(value)
        return value

    wrapped = _Wrapping({id(node): number for number, node in enumerate(numbered)}).visit(tree)
    written = ast.unparse(ast.fix_missing_locations(wrapped))
    Path(path).write_text(written, encoding="utf-8")
    with quietly():
        module = loaded(Path(path), {PROBE: probe})
        seeded()
        module.run()
    return [asdict(fact) for fact in facts]
