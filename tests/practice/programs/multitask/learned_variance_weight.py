"""A loss weight that is learned: uncertainty weighting with a graph of its own."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net, weight_net = nn.Linear(4, 3), nn.Linear(4, 1)
    opt = torch.optim.Adam([*net.parameters(), *weight_net.parameters()], 1e-2)
    for _ in range(2):
        x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
        log_var = weight_net(x).squeeze(1)
        nll = nn.functional.cross_entropy(net(x), y, reduction="none")
        loss = (nll * (-log_var).exp() + log_var).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


TRUTH = Truth()
