"""AG305: updates without an optimizer that go on using the gradients of the first backward."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(5, 8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.rand(8, 1, generator=torch.Generator().manual_seed(2))


class Descent:
    """Takes a list of the gradients once, or at each step."""

    def __init__(self, parameters, *, again):
        self.parameters, self.again = [*parameters], again
        self.read()

    def read(self):
        grads = [p.grad for p in self.parameters]  # Read.
        self.grads = grads

    def step(self):
        if self.again:
            self.read()
        with torch.no_grad():
            for p, g in zip(self.parameters, self.grads, strict=True):
                p.sub_(0.1 * g)


def trained(*, again=False, set_to_none=True):
    net, descent = nn.Linear(4, 1), None
    for x in X:
        net.zero_grad(set_to_none=set_to_none)  # Cleared.
        F.mse_loss(net(x), Y).backward()
        descent = descent or Descent(net.parameters(), again=again)
        descent.step()


def test_gradients_that_are_read_once():
    """The call that sets them to None, and the line that reads them; zeroed in place, or read again, they are new."""
    found = diagnosed(
        trained, "AG305", "# Cleared.", "weight", "bias", "which nothing reads", severity="warning", where=trained
    )
    assert "grads = [p.grad" in "".join(place.source for place in found.locations)
    assert "set_to_none=False" in found.fix
    calm(lambda: trained(again=True), lambda: trained(set_to_none=False))


@pytest.mark.parametrize("kept", ["back", "anchor"])
def test_old_gradients_that_are_meant(kept):
    """A step that is taken back, and the gradient of an anchor that corrects each new one."""
    w = torch.zeros(4, 1, requires_grad=True)

    def gradient(x):
        w.grad = None
        F.mse_loss(x @ w, Y).backward()
        return w.grad

    def program():
        old = gradient(X[0])
        for x in X:
            new = gradient(x)
            with torch.no_grad():
                if kept == "back":
                    w.sub_(0.1 * old)
                    w.add_(0.1 * old)
                    w.sub_(0.1 * new)
                else:
                    w.sub_(0.1 * (new - 0.1 * old))

    calm(program)
