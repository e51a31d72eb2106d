"""AG102: a step of the program's own optimizer, without grad, calls the closure that computes the loss."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, silent

X, Y = torch.randn(8, 4), torch.arange(8) % 2


class Signed(torch.optim.Optimizer):
    """Sign descent."""

    def __init__(self, params):
        super().__init__(params, {"lr": 0.1})

    @torch.no_grad()  # the fault
    def step(self, closure=None):
        loss = closure()
        self.move()
        return loss

    def move(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(p.grad.sign(), alpha=group["lr"])


class Enabled(Signed):
    """As torch.optim has it."""

    @torch.no_grad()
    def step(self, closure=None):
        with torch.enable_grad():
            loss = closure()
        self.move()
        return loss


def program(kind):
    net = nn.Linear(4, 2)
    optimizer = kind(net.parameters())

    def closure():
        optimizer.zero_grad()
        loss = F.cross_entropy(net(X), Y)
        loss.backward()
        return loss

    for _ in range(2):
        optimizer.step(closure)


def test_a_closure_called_without_grad():
    """The decorator of step() is named, and enable_grad() around the closure is advised."""
    found = diagnosed(lambda: program(Signed), "AG102", "# the fault", "net.weight", severity="error", where=Signed)
    assert "`with torch.enable_grad():`" in found.fix
    assert "Signed.step" in found.message


def test_a_closure_called_with_grad():
    """Under enable_grad() all is well."""
    silent(lambda: program(Enabled))
