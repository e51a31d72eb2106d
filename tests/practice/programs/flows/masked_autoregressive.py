"""MAF as it is often written: the masks are multiplied into the weights' data at each forward pass."""

import math

import torch
from torch import nn

from tests.practice.truth import Truth


class MaskedLinear(nn.Linear):
    def __init__(self, din, dout, mask):
        super().__init__(din, dout)
        self.register_buffer("mask", mask)

    def forward(self, x):
        self.weight.data *= self.mask
        return super().forward(x)


class MADE(nn.Module):
    def __init__(self, dim=3, hidden=18):
        super().__init__()
        inputs, middle = torch.arange(dim), torch.arange(hidden) % (dim - 1)
        self.first = MaskedLinear(dim, hidden, (middle[:, None] >= inputs).float())
        self.second = MaskedLinear(hidden, 2 * dim, (inputs.repeat(2)[:, None] > middle).float())

    def forward(self, x):
        shift, log_scale = self.second(torch.relu(self.first(x))).chunk(2, 1)
        log_scale = torch.tanh(log_scale)
        return (x - shift) * (-log_scale).exp(), -log_scale.sum(1)

    @torch.no_grad()
    def sample(self, z):
        x = torch.zeros_like(z)
        for i in range(z.shape[1]):
            shift, log_scale = self.second(torch.relu(self.first(x))).chunk(2, 1)
            x[:, i] = z[:, i] * torch.tanh(log_scale[:, i]).exp() + shift[:, i]
        return x


class Flow(nn.Module):
    def __init__(self, layers=2, dim=3):
        super().__init__()
        self.layers = nn.ModuleList(MADE(dim) for _ in range(layers))

    def log_prob(self, x):
        total = 0.0
        for layer in self.layers:
            x, log_det = layer(x)
            x = x.flip(1)
            total = total + log_det
        return total - 0.5 * (x**2 + math.log(2 * math.pi)).sum(1)


def run():
    torch.manual_seed(0)
    flow = Flow()
    opt = torch.optim.Adam(flow.parameters(), lr=5e-3)
    for _ in range(4):
        x = torch.randn(32, 3)
        x[:, 1] += x[:, 0] ** 2
        loss = -flow.log_prob(x).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        samples = flow.layers[0].sample(torch.randn(8, 3))
    return samples


TRUTH = Truth()
