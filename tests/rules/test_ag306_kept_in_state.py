"""AG306: an optimizer that keeps the gradient itself in its state."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Momentum(torch.optim.Optimizer):
    def __init__(self, params, *, kept):
        super().__init__(params, {"lr": 0.1})
        self.kept = kept

    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            state = self.state[p]
            if "buffer" in state:
                state["buffer"].mul_(0.9).add_(p.grad)
            else:
                state["buffer"] = self.kept(p.grad)  # Kept.
            p.sub_(0.1 * state["buffer"])


class Previous(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {"lr": 0.1})

    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            old = self.state[p].get("previous", p.grad)
            p.sub_(0.1 * (2 * p.grad - old))
            self.state[p]["previous"] = p.grad


def train(made, *, to_none):
    net = nn.Linear(4, 2)
    optimizer = made(net.parameters())
    for _ in range(3):
        optimizer.zero_grad(set_to_none=to_none)
        net(X).pow(2).mean().backward()
        optimizer.step()


def test_momentum_that_is_the_gradient():
    """zero_grad() keeps the tensor, so that the buffer and the gradient stay one."""

    def itself(params):
        return Momentum(params, kept=lambda grad: grad)

    diagnosed(
        lambda: train(itself, to_none=False), "AG306", "Kept.", "buffer", "weight",
        severity="warning", where=Momentum.step,
    )  # fmt: skip


@pytest.mark.parametrize("to_none", [True, False])
def test_momentum_that_is_a_copy(to_none):
    """However gradients are cleared."""
    calm(lambda: train(lambda params: Momentum(params, kept=torch.clone), to_none=to_none))


def test_a_gradient_that_backward_makes_anew():
    """Who keeps the last gradient, and gets another tensor for the next, needs no copy."""
    calm(lambda: train(Previous, to_none=True))
