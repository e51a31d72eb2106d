"""The optimizer gets the values of `state_dict()`, which are detached."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    opt = torch.optim.Adam(net.state_dict().values(), lr=1e-2)  # cause
    x = torch.randn(32, 4)
    y = x.sum(1, keepdim=True)
    losses = []
    for _ in range(3):
        loss = nn.functional.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses


def verify(losses):
    assert losses[0] == losses[-1]


TRUTH = Truth(
    fault="the optimizer holds detached tensors that never get a gradient",
    repair=("opt = torch.optim.Adam(net.parameters(), lr=1e-2)",),
)
