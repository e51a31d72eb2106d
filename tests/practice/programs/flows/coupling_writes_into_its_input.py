"""An affine coupling that changes its second half in place: its first half shares the memory's version."""

import torch
from torch import nn
from torch.distributions import Independent, Normal

from tests.practice.truth import Truth


class Coupling(nn.Module):
    def __init__(self, dim, flip):
        super().__init__()
        self.half, self.flip = dim // 2, flip
        self.net = nn.Sequential(nn.Linear(self.half, 24), nn.ReLU(), nn.Linear(24, 2 * (dim - self.half)))

    def forward(self, x):
        if self.flip:
            x = x.flip(-1)
        y = x
        shift, log_scale = self.net(x[:, : self.half]).chunk(2, -1)
        log_scale = torch.tanh(log_scale)
        y[:, self.half :] = x[:, self.half :] * log_scale.exp() + shift  # cause
        return y, log_scale.sum(-1)


class Flow(nn.Module):
    def __init__(self, dim=4, depth=4):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(dim, flip=i % 2 == 1) for i in range(depth))
        self.register_buffer("zeros", torch.zeros(dim))
        self.register_buffer("ones", torch.ones(dim))

    def log_prob(self, x):
        total = 0.0
        for layer in self.layers:
            x, log_det = layer(x)
            total = total + log_det
        return Independent(Normal(self.zeros, self.ones), 1).log_prob(x) + total


def moons(n):
    angle = torch.pi * torch.rand(n)
    return torch.stack([angle.cos(), angle.sin(), angle.cos() ** 2, torch.randn(n)], 1)


def run(steps=2):
    torch.manual_seed(0)
    flow = Flow()
    optimizer = torch.optim.AdamW(flow.parameters(), lr=1e-3, weight_decay=1e-5)
    for _ in range(steps):
        loss = -flow.log_prob(moons(16)).mean()
        optimizer.zero_grad()
        loss.backward()  # symptom
        optimizer.step()
    return loss


TRUTH = Truth(
    fault="the half that the net saved is a view of what is written to",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("half",),
    repair=("y = torch.cat([x[:, : self.half], x[:, self.half :] * log_scale.exp() + shift], -1)",),
)
