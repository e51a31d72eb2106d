"""A program in the making: its variables, and the steps that make new ones. Every choice is random."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from . import grammar
from .program import Step


@dataclass(frozen=True)
class Var:
    """A variable. ``family``: the tensors that share a history; ``cut``: it was made under no_grad."""

    name: str
    layout: grammar.Layout
    family: int
    cut: bool = False
    multiple: bool = False
    external: bool = False

    @property
    def shape(self) -> grammar.Shape:
        return self.layout[0]


@dataclass
class Builder:
    """The program so far, and what its variables are."""

    random: Random
    vars: list[Var] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    alive: dict[int, bool] = field(default_factory=dict)
    """Family -> whether it requires grad."""
    leaves: set[int] = field(default_factory=set)
    losses: list[str] = field(default_factory=list)
    optimizer: str = ""
    names: int = 0
    inside: bool = False
    """In a checkpointed function."""

    def pick(self, options: Any) -> Any:
        return self.random.choice(list(options))

    def near(self, options: list[Var]) -> Var:
        """One of them, more often a late one: what is computed last is computed from most."""
        return self.pick(options[-4:] if self.seldom(2) else options)

    def seldom(self, one_in: int) -> bool:
        return self.random.randrange(one_in) == 0

    def new(self, layout: grammar.Layout, *, family: int | None = None, grad: bool = False, **traits: bool) -> Var:
        if family is None:
            family = len(self.alive)
            self.alive[family] = grad
        var = Var(f"v{self.names}", layout, family, **traits)
        self.names += 1
        self.vars.append(var)
        return var

    def leaf(self, name: str, shape: grammar.Shape) -> None:
        family = len(self.alive)
        self.alive[family] = name.startswith("w")
        if self.alive[family]:
            self.leaves.add(family)
        self.vars.append(Var(name, grammar.contiguous(shape), family))

    def requires_grad(self, var: Var) -> bool:
        return self.alive[var.family] and not var.cut

    # --- steps -------------------------------------------------------------------------------------------------

    def out(self) -> None:
        self.steps.append(self.computed(no_grad=self.seldom(12)))

    def computed(self, *, no_grad: bool = False) -> Step:
        """An out-of-place op of some variables."""
        first = self.near(self.vars)
        operands = [first]
        text = self.pick((*grammar.UNARY, *grammar.BINARY, *grammar.BINARY, grammar.PRODUCT))
        if text in grammar.UNARY:
            text = "{0}" + text
        else:
            operands.append(self.near(self.vars))
        shape = grammar.result_shape(text, *(v.shape for v in operands))
        if shape is None:  # The shapes do not fit: an op that always does.
            text, operands = "{0}.sigmoid()", [first]
            shape = first.shape
        grad = not no_grad and any(self.requires_grad(v) for v in operands)
        var = self.new(grammar.contiguous(shape), grad=grad)
        return Step("out", f"{var.name} = {text.format(*(v.name for v in operands))}", no_grad=no_grad)

    def view(self) -> None:
        source = self.near(self.vars)
        views = grammar.views_of(source.layout)
        if not views:
            self.out()
            return
        text, layout = self.pick(views)
        no_grad = self.seldom(12)
        multiple = source.multiple or any(name in text for name in grammar.MULTIPLE)
        var = self.new(layout, family=source.family, cut=source.cut or no_grad, multiple=multiple)
        self.steps.append(Step("view", f"{var.name} = {source.name}{text}", no_grad=no_grad))

    def alias(self) -> None:
        source = self.near(self.vars)
        var = self.new(source.layout)
        self.steps.append(Step("alias", f"{var.name} = {source.name}{self.pick(('.detach()', '.data'))}"))
