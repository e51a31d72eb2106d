"""AG202: what is said of several tensors agrees in number, and of all of them."""

from __future__ import annotations

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from .programs import diagnosed, quoted

X = torch.randn(6, 4, generator=torch.Generator().manual_seed(3))


def test_several_weights():
    """No one layer has saved all of them, so none is told to have."""

    def program(forward=lambda net: net(X)):
        net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
        x = forward(net).sum()
        for parameter in net.parameters():
            parameter.data.mul_(0.5)
        x.backward()

    found = diagnosed(program, "AG202", "parameter.data.mul_(0.5)", "net.4.weight, net.2.weight were saved",
                      severity="error")  # fmt: skip
    assert quoted(found.message)[0] == "linear"
    assert " in net." not in found.message
    found = diagnosed(
        lambda: program(lambda net: checkpoint(net, X, use_reentrant=False)), "AG202", "parameter.data.mul_(0.5)",
        "were modified by `mul_`", severity="error", where=program,
    )  # fmt: skip
    assert "clone" not in found.fix, "A copy of a parameter is not what the model computes with."
    assert "edit them afterwards" in found.fix


def test_one_weight():
    """Its layer is told."""

    def program():
        net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
        loss = net(X).sum()
        net[2].weight.data.mul_(0.5)
        loss.backward()

    diagnosed(program, "AG202", "data.mul_(0.5)", "net.2.weight was saved", "`linear` (AddmmBackward0) in net.2",
              severity="error")  # fmt: skip


def test_many_results_without_a_name():
    """Two of them are told, and how many more there are; a list that the call was given has no copy."""

    def program():
        layers = nn.ModuleList(nn.Sequential(nn.Linear(4, 4), nn.Sigmoid()) for _ in range(6))
        results = [layer(X) for layer in layers]
        torch._foreach_mul_([result.data for result in results], 0.5)
        sum(result.sum() for result in results).backward()

    found = diagnosed(program, "AG202", "_foreach_mul_", "and 4 more were saved", severity="error")
    assert len(found.message) < 400
    assert "].clone()" not in found.fix
