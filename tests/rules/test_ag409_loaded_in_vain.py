"""AG409: state that is loaded into an optimizer which another one replaces."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def test_optimizer_made_again_behind_the_load():
    """The new one begins without state; made before the load, or for other parameters, nothing is lost."""
    net = nn.Linear(4, 1)
    first = torch.optim.Adam(net.parameters())
    trained(first, net(X).pow(2).mean())
    checkpoint = first.state_dict()

    def program(*, again, other=False):
        net, rest = nn.Linear(4, 1), nn.Linear(4, 1)
        optimizer = torch.optim.Adam(net.parameters())
        optimizer.load_state_dict(checkpoint)
        if other:
            trained(optimizer, net(X).pow(2).mean())
            optimizer = torch.optim.Adam(rest.parameters())
            net = rest
        if again:
            optimizer = torch.optim.Adam(net.parameters())  # again
        for _ in range(2):
            trained(optimizer, net(X).pow(2).mean())

    diagnosed(lambda: program(again=True), "AG409", "# again", "Adam", "net.weight", severity="warning", where=program)
    calm(lambda: program(again=False), lambda: program(again=False, other=True))
