"""WGAN: `weight` of a layer with weight norm is computed at each access; clamping it clips nothing."""

import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    D = nn.Sequential(weight_norm(nn.Linear(3, 8)), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.RMSprop(D.parameters(), 0.1)
    for _ in range(3):
        loss = D(torch.randn(8, 3)).mean() - D(torch.randn(8, 3) + 1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            D[0].weight.clamp_(-0.01, 0.01)  # cause
            D[2].weight.clamp_(-0.01, 0.01)
    return D[0].weight.abs().max()


def verify(out):
    assert out > 0.01


TRUTH = Truth(
    fault="the write goes to a tensor that is computed anew at each access",
    names=("weight",),
    repair=("D[0].weight = D[0].weight.clamp(-0.01, 0.01)",),
)
