"""A gradient penalty under a scaler: the norm is that of the scaled gradients."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    penalties = []
    for _ in range(3):
        x, y = torch.randn(12, 5), torch.randn(12, 1)
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        grads = torch.autograd.grad(scaler.scale(loss), list(net.parameters()), create_graph=True)  # also
        penalty = sum(g.pow(2).sum() for g in grads).sqrt()  # cause
        penalties.append(penalty.item())
        scaler.scale(loss + 0.1 * penalty).backward()
        scaler.step(opt)
        scaler.update()
    return penalties


def verify(penalties):
    assert min(penalties) > 100


TRUTH = Truth(
    fault="the penalty sees gradients that are still scaled",
    names=("scale",),
    repair=("penalty = sum((g / scaler.get_scale()).pow(2).sum() for g in grads).sqrt()",),
)
