"""AG305: zeros that zero_grad() leaves, and momentum that moves what no loss reached."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import diagnosed
from .twins import calm

OPTIMIZERS = {
    "Adam": lambda parameters: torch.optim.Adam(parameters, lr=0.1),
    "momentum": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
    "one by one": lambda parameters: torch.optim.RMSprop(parameters, lr=0.1, momentum=0.5, foreach=False),
}


def turns(make, clear, order="abab"):
    """One head a step, on a common trunk."""
    net = nn.ModuleDict({"trunk": nn.Linear(4, 4), "a": nn.Linear(4, 1), "b": nn.Linear(4, 1)})
    optimizer = make(net.parameters())
    for name in order:
        clear(net, optimizer)
        net[name](net["trunk"](torch.randn(8, 4))).pow(2).mean().backward()
        optimizer.step()


def keeps_zeros(net, optimizer):
    optimizer.zero_grad(set_to_none=False)  # zeros


def of_the_model(net, optimizer):
    net.zero_grad(set_to_none=False)  # zeros


@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
@pytest.mark.parametrize("clear", [keeps_zeros, of_the_model])
def test_heads_that_take_turns(make, clear):
    """The call that leaves zeros; with None instead, each head rests when it has no loss."""
    finding = diagnosed(
        lambda: turns(make, clear), "AG305", "# zeros", "a.weight", "b.weight", "although no loss reached them",
        severity="warning", where=clear,
    )  # fmt: skip
    assert "trunk" not in finding.message
    calm(lambda: turns(make, lambda net, optimizer: optimizer.zero_grad()))


def test_zeros_that_move_nothing():
    """Plain SGD, steps that all losses have led to, and gradients that are cleared after the backward."""

    def dropped_on_purpose():
        head, other = nn.Linear(4, 1), nn.Linear(4, 1)
        optimizer = torch.optim.Adam([*head.parameters(), *other.parameters()])
        for step in range(4):
            optimizer.zero_grad()
            (head(torch.randn(8, 4)) + other(torch.randn(8, 4))).pow(2).mean().backward()
            if step == 2:
                other.zero_grad(set_to_none=False)
            optimizer.step()

    def all_of_them():
        net = nn.ModuleDict({"a": nn.Linear(4, 1), "b": nn.Linear(4, 1)})
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(3):
            optimizer.zero_grad(set_to_none=False)
            for head in net.values():
                head(torch.randn(8, 4)).pow(2).mean().backward()
            optimizer.step()

    calm(
        lambda: turns(lambda parameters: torch.optim.SGD(parameters, lr=0.1), keeps_zeros),
        dropped_on_purpose,
        all_of_them,
    )
