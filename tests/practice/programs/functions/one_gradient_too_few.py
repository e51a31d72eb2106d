"""A Function with a scale and a flag returns one gradient less than it has inputs."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, hard):
        ctx.save_for_backward(x, scale)
        return torch.sign(x) * scale if hard else torch.tanh(x) * scale

    @staticmethod
    def backward(ctx, g):
        x, scale = ctx.saved_tensors
        return g * scale, (g * x.sign()).sum()  # cause


def run():
    torch.manual_seed(0)
    lin, scale = nn.Linear(3, 4), nn.Parameter(torch.tensor(0.5))
    opt = torch.optim.SGD([*lin.parameters(), scale], 0.1)
    for _ in range(2):
        opt.zero_grad()
        Scaled.apply(lin(torch.randn(5, 3)), scale, True).pow(2).mean().backward()
        opt.step()


TRUTH = Truth(
    fault="backward returns two gradients for three inputs",
    raises="function ScaledBackward returned an incorrect number of gradients",
    names=("Scaled",),
    repair=("return g * scale, (g * x.sign()).sum(), None",),
)
