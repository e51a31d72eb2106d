"""AG109: values that a network generates are copied into the parameters of another module, and the graph ends there."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.ones(5, 4)


def generated(load, rounds=2):
    target, hyper = nn.Linear(4, 1, bias=False), nn.Linear(3, 4)
    optimizer = torch.optim.SGD(hyper.parameters(), lr=0.1)
    for _ in range(rounds):
        weight = hyper(torch.ones(3)).view(1, 4)
        out = load(target, weight)
        trained(optimizer, (out - 1).square().mean() + 0.1 * weight.square().sum())


def copied(target, weight):
    with torch.no_grad():
        target.weight.copy_(weight)  # Written.
    return target(X)


def test_generated_weights_that_are_copied():
    """The line that copies, with what made the values; it is no target network, and freezing it would cure nothing."""
    finding = diagnosed(
        lambda: generated(copied), "AG109", "# Written.", "hyper.weight", "target.weight", "copy_",
        severity="warning", where=copied,
    )  # fmt: skip
    assert "functional_call" in finding.fix
    assert "detach" not in finding.fix


def test_generated_weights_that_are_computed_with():
    """The module runs with the values themselves."""
    calm(lambda: generated(lambda target, weight: torch.func.functional_call(target, {"weight": weight}, (X,))))
