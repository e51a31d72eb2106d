"""AG305: a guard that looks at the gradients leaves out every step."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import diagnosed
from .twins import calm


def training(*, guard, rest=True, rounds=3, keep=False, by_hand=False):
    net = nn.ModuleDict({"body": nn.Linear(4, 2), "rest": nn.Linear(2, 2)})
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    norms = []
    for round_ in range(rounds):
        optimizer.zero_grad()
        hidden = net["body"](torch.randn(8, 4))
        (net["rest"](hidden) if rest else hidden).pow(2).mean().backward()
        if keep:
            norms.append(sum(p.grad.norm().item() for p in net.parameters()))
            continue
        if guard(round_, net):  # Guard.
            if by_hand:
                with torch.no_grad():
                    for p in net.parameters():
                        p.sub_(p.grad, alpha=0.1)
            continue
        optimizer.step()


def missing(_, net):
    return any(p.grad is None or not torch.isfinite(p.grad).all() for p in net.parameters())  # Looks.


def small(_, net):
    return all(bool(p.grad.abs().max() < 100) for p in net.parameters())  # Looks.


@pytest.mark.parametrize(("guard", "rest"), [(missing, False), (small, True)])
def test_no_step_is_made(guard, rest):
    """Since one parameter has no gradient, or since the condition is the wrong way round."""
    finding = diagnosed(
        lambda: training(guard=guard, rest=rest), "AG305", "# Looks.", "SGD", severity="warning", where=guard,
        besides=("AG301", "AG404"),
    )  # fmt: skip
    assert ("is None" in finding.message) == (not rest)


def test_guards_that_let_steps_through():
    """Some rounds step; one round is left out; or numbers are kept, or steps made by hand."""
    calm(
        lambda: training(guard=missing),
        lambda: training(guard=lambda round_, net: round_ < 1 and small(0, net)),
        lambda: training(guard=small, rounds=1),
        lambda: training(guard=small, keep=True),
        lambda: training(guard=small, by_hand=True),
    )
