"""AG413: a step that returns at the first parameter without a gradient."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import alarms, inspected, line_of
from .twins import calm


class Returns(torch.optim.Optimizer):
    """Leaves its loop where it should go on."""

    def __init__(self, params):
        super().__init__(params, {"lr": 0.1})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    return loss
                p.sub_(group["lr"] * p.grad)
        return loss


class ReturnsInBlock(Returns):
    """Leaves a `with` on the way: Python returns on that one's line."""

    def step(self, closure=None):
        with torch.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        return closure
                    p.sub_(group["lr"] * p.grad)
        return closure


class GoesOn(Returns):
    """The same as it was meant."""

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.sub_(group["lr"] * p.grad)


def trained(optimizer_class, *, steps=3, unused=True, last=True):
    """Two layers that learn, and one between them that has no part in the loss."""
    layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
    used = [layers[0], *([] if unused else [layers[1]]), *([layers[2]] if last else [])]
    optimizer = optimizer_class(layers.parameters())
    if unused:
        layers[1].requires_grad_(False)
    if not last:
        layers[2].requires_grad_(False)
    for _ in range(steps):
        hidden = torch.ones(2, 4)
        for layer in used:
            hidden = layer(hidden).tanh()
        optimizer.zero_grad()
        hidden.pow(2).mean().backward()
        optimizer.step()


@pytest.mark.parametrize("kind", [Returns, ReturnsInBlock])
def test_returns_at_the_first(kind):
    """The return is the culprit, and the parameters behind the gap are named."""
    (finding,) = alarms(inspected(lambda: trained(kind)))
    assert (finding.rule, finding.severity) == ("AG413", "warning")
    assert finding.locations[0].lineno == line_of(kind.step, "if p.grad is None:") + 1
    assert finding.subjects == (kind.__name__, "layers.2.weight", "layers.2.bias", "layers.1.weight")


def test_goes_on():
    """Skipping it is right; without a gap, or with nothing behind it, returning early is no matter."""
    calm(
        lambda: trained(GoesOn),
        lambda: trained(Returns, unused=False),
        lambda: trained(Returns, last=False),
        lambda: trained(torch.optim.SGD),
    )


def test_one_step_is_not_enough():
    """A single step may have its reasons."""
    calm(lambda: trained(Returns, steps=1))
