"""In-place steps: directly, through a view, through an alias that autograd does not see."""

from __future__ import annotations

from . import grammar
from .builder import Builder, Var
from .program import Step


class Writer(Builder):
    """Modifies variables."""

    def inplace(self) -> None:
        self.steps.append(self.modified([v for v in self.vars if not grammar.overlapping(v.layout)]))

    def modified(self, targets: list[Var]) -> Step:
        """An in-place form on one of the targets, through an alias of it or a view."""
        computed = [v for v in targets if self.alive[v.family] and v.family not in self.leaves]
        var = self.near(computed if computed and not self.seldom(4) else targets)
        way = self.pick(("", "", "", "", "view", ".data", ".data", ".detach()", "numpy"))
        if way == "numpy" and self.seldom(2):
            how = self.pick((" += 1.0", " *= 2.0", " = 0.6"))
            place = f"{var.name}.detach().numpy()"
            return Step("numpy write", f"{place}[...]{how}", (var.name,))
        target, layout, hidden = var.name, var.layout, way in {".data", ".detach()"}
        views = [view for view in grammar.views_of(layout) if not grammar.overlapping(view[1])]
        if self.inside:  # A reentrant checkpoint runs under no_grad, and recomputes what autograd then forbids.
            views = [view for view in views if not any(name in view[0] for name in grammar.MULTIPLE)]
        multiple = var.multiple
        if way == "view" and views:
            text, layout = self.pick(views)
            multiple = multiple or any(name in text for name in grammar.MULTIPLE)
            target += text
        elif hidden:
            target += way
        # Autograd forbids these: such programs end there and test nothing. A few are tried nevertheless.
        forbidden = self.requires_grad(var) and var.family in self.leaves
        forbidden = forbidden or (multiple and self.alive[var.family]) or (var.cut and self.alive[var.family])
        no_grad = not hidden and not (self.seldom(40) if forbidden else not self.seldom(8))
        operands = [v for v in self.vars if grammar.broadcast(layout[0], v.shape) == layout[0]]
        if hidden or forbidden:  # A detached tensor may not take part in the graph of a leaf's update either.
            operands = [v for v in operands if no_grad or not self.requires_grad(v)]
        text, rebind, used = self.form(target, layout, operands)
        plain = target == var.name and rebind
        if used is not None and not hidden and not no_grad and self.requires_grad(used):
            self.alive[var.family] = True
        return Step(
            "hidden write" if way == ".data" else "in-place",
            text,
            (target,) if not hidden else (f"{var.name}",),
            no_grad,
            rebind if plain else "",
        )

    def form(self, target: str, layout: grammar.Layout, operands: list[Var]) -> tuple[str, str, Var | None]:
        """(the in-place statement, its out-of-place form where the target is a name, its operand)."""
        kind = self.pick(("unary", "binary", "setitem", "augmented"))
        if kind in {"binary", "augmented"} and operands:
            other = self.pick(operands)
            if kind == "augmented" and target.isidentifier():
                inplace, rebind = self.pick(grammar.AUGMENTED)
                return inplace.format(target, other.name), rebind.format(target, other.name), other
            inplace, out = self.pick(grammar.INPLACE_BINARY)
            rebind = f"{target} = {target}{out.format(other.name)}" if out else ""
            return target + inplace.format(other.name), rebind, other
        if kind == "setitem" and layout[0]:
            return f"{target}[0] = {self.pick((0.6, -1.2))}", "", None
        inplace, out = self.pick(grammar.INPLACE_UNARY)
        return target + inplace, f"{target} = {target}{out}" if out else "", None
