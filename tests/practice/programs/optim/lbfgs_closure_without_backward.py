"""L-BFGS: the closure returns the loss and forgets backward."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 1))
    opt = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=5)
    x = torch.linspace(-1, 1, 20)[:, None]
    losses = []

    def closure():
        opt.zero_grad()
        loss = (net(x) - x.sin()).pow(2).mean()  # also
        return loss  # cause

    for _ in range(3):
        losses.append(opt.step(closure).item())
    return losses


def verify(losses):
    assert losses[0] == losses[-1]


TRUTH = Truth(
    fault="no backward runs, and the optimizer steps without gradients",
    names=("backward",),
    repair=("loss.backward()\nreturn loss",),
)
