"""AG305: layers in a plain list of a module, which the module's zero_grad() does not clear."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed
from .twins import calm


class Committee(nn.Module):
    def __init__(self, members):
        super().__init__()
        self.out = nn.Linear(4, 1)
        self.members = members()  # Made.

    def forward(self, x):
        return self.out(sum((member(x) for member in self.members), x))


def grown(members=list, clearing=lambda net, optimizer: net):
    """A layer joins before the second round, and the optimizer gets it."""
    net = Committee(members)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for i in range(4):
        if i == 1:
            layer = nn.Linear(4, 4)
            net.members.append(layer)
            optimizer.add_param_group({"params": list(layer.parameters())})
        clearing(net, optimizer).zero_grad()
        net(torch.randn(8, 4)).square().mean().backward()
        optimizer.step()


def test_layers_that_join_a_plain_list():
    """The container is told, where the optimizer knows them and the module does not."""
    diagnosed(
        grown, "AG305", "# Made.", "layer.weight", "Committee.members", "nn.ModuleList",
        severity="warning", where=Committee.__init__,
    )  # fmt: skip


def test_layers_that_are_cleared():
    """By a module that knows them, or by the optimizer."""
    calm(lambda: grown(nn.ModuleList), lambda: grown(clearing=lambda net, optimizer: optimizer))
