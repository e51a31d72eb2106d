"""The steps of training: checkpoints, batch norm, losses, backward, optimizer steps."""

from __future__ import annotations

from dataclasses import replace

from . import grammar
from .program import Step
from .writing import Writer


class Trainer(Writer):
    """Adds what a training loop consists of."""

    def checkpoint(self) -> None:
        """A checkpointed function of one or two arguments, which may read other variables as well."""
        chosen = [self.near(self.vars) for _ in range(self.pick((1, 1, 2)))]
        inner = Writer(
            self.random, alive=self.alive, leaves=self.leaves, names=100 * (len(self.steps) + 1), inside=True
        )
        inner.vars = [replace(v, name=f"a{i}") for i, v in enumerate(chosen)]
        inner.vars += [self.pick(self.vars) for _ in range(self.pick((0, 0, 1)))]
        outside = len(inner.vars)
        body = [inner.computed()]
        for _ in range(self.pick((0, 1, 2))):
            modifiable = [v for v in inner.vars[outside:] if not grammar.overlapping(v.layout)]
            body.append(inner.modified(modifiable) if self.seldom(3) else inner.computed())
        last = inner.vars[-1]
        body.append(Step("return", f"return {last.name} * 2.0"))
        reentrant = self.pick((True, False))
        names = ", ".join(v.name for v in chosen)
        arguments = ", ".join(f"a{i}" for i in range(len(chosen)))
        number = len(self.steps)
        grad = inner.requires_grad(last) and (not reentrant or any(self.requires_grad(v) for v in chosen))
        var = self.new(grammar.contiguous(last.shape), grad=grad)
        self.steps.append(
            Step(
                "reentrant checkpoint" if reentrant else "checkpoint",
                f"{var.name} = checkpoint(f{number}, {names}, use_reentrant={reentrant})",
                signature=f"f{number}({arguments})",
                body=tuple(body),
            )
        )

    def batch_norm(self) -> None:
        sources = [v for v in self.vars if v.shape == (3, 3)]
        source = self.pick(sources)
        training = self.pick((True, False))
        var = self.new(grammar.contiguous((3, 3)), grad=self.requires_grad(source))
        text = f"{var.name} = F.batch_norm({source.name}, mean, var, training={training})"
        kind = f"batch norm {'train' if training else 'eval'}"
        self.steps.append(Step(kind, text, ("mean", "var") if training else ()))

    def loss(self) -> None:
        candidates = [v for v in self.vars if self.requires_grad(v)]
        name = f"l{len(self.steps)}"
        first = self.near(candidates)
        form = self.pick(("{0}.sum()", "{0}.pow(2).sum()", "{0}.sum() * {1}.sum()", "{0}.sum() + {1}.exp().mean()"))
        self.steps.append(Step("loss", f"{name} = {form.format(first.name, self.near(candidates).name)}"))
        self.losses.append(name)

    def backward(self) -> None:
        if not self.losses:
            self.loss()
        loss = self.pick(self.losses)
        retain = self.seldom(4)
        if not retain and not self.seldom(20):
            self.losses.remove(loss)
        self.steps.append(Step("backward", f"{loss}.backward({'retain_graph=True' if retain else ''})"))

    def step(self) -> None:
        step = Step(self.optimizer, "optimizer.step()", ("*stepped(optimizer)",))
        if self.optimizer:
            self.steps.append(self.pick((step, step, Step("zero_grad", "optimizer.zero_grad()"))))
        else:
            self.inplace()
