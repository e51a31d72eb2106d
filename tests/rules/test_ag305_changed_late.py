"""AG305: gradients that are changed after the step has used them."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import diagnosed, inspected
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def scaled(net):
    for p in net.parameters():
        p.grad.mul_(0.5)  # Changed.


def noisy(net):
    for p in net.parameters():
        p.grad += 0.01 * torch.randn_like(p.grad)  # Changed.


def trained(change, *, late, clears=True, reads=False, rounds=3):
    def program():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for number in range(rounds):
            if clears or not number:
                optimizer.zero_grad()
            net(X).pow(2).mean().backward()
            if not late:
                change(net)
            optimizer.step()
            if late:
                change(net)
            if reads:
                print(float(net.weight.grad.norm()))

    return program


@pytest.mark.parametrize("change", [scaled, noisy])
def test_changed_between_step_and_zero_grad(change):
    """Nobody uses what is changed then."""
    diagnosed(trained(change, late=True), "AG305", "Changed.", "weight", "no effect", severity="warning", where=change)


@pytest.mark.parametrize(
    "program",
    [trained(scaled, late=False), trained(scaled, late=True, reads=True), trained(scaled, late=True, rounds=1)],
    ids=["before the step", "read", "at the end"],
)
def test_changes_that_somebody_uses(program):
    """Before the step, read for a log, or at the end of the capture: what comes next is not known."""
    calm(program)


def test_decaying_gradients():
    """Who never clears, and lets the old gradients decay, has built a momentum."""
    report = inspected(trained(scaled, late=True, clears=False))
    assert not any("no effect" in finding.message for finding in report.findings)


def test_parameters_that_are_converted_after_the_step():
    """Kept in half precision and stepped in float32: a conversion of the module converts the gradients as well."""

    def program():
        net = nn.Linear(4, 2).bfloat16()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            net(X.bfloat16()).pow(2).mean().backward()
            net.float()
            optimizer.step()
            net.bfloat16()

    calm(program)
