"""NoisyNet: the mean of the weights is read by `.data`, so that only the noise learns."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class NoisyLinear(nn.Module):
    def __init__(self, n_in, n_out, std=0.5):
        super().__init__()
        bound = 1 / math.sqrt(n_in)
        self.weight_mu = nn.Parameter(torch.empty(n_out, n_in).uniform_(-bound, bound))
        self.weight_sigma = nn.Parameter(torch.full((n_out, n_in), std * bound))
        self.bias_mu = nn.Parameter(torch.empty(n_out).uniform_(-bound, bound))
        self.bias_sigma = nn.Parameter(torch.full((n_out,), std * bound))
        self.register_buffer("weight_eps", torch.zeros(n_out, n_in))
        self.register_buffer("bias_eps", torch.zeros(n_out))

    def resample(self):
        self.weight_eps.normal_()
        self.bias_eps.normal_()

    def forward(self, x):
        if not self.training:
            return F.linear(x, self.weight_mu, self.bias_mu)
        weight = self.weight_mu.data + self.weight_sigma * self.weight_eps  # cause
        bias = self.bias_mu + self.bias_sigma * self.bias_eps
        return F.linear(x, weight, bias)


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), NoisyLinear(16, 2))
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    before = net[2].weight_mu.detach().clone()
    for _ in range(3):
        net[2].resample()
        s, a, target = torch.randn(8, 4), torch.randint(2, (8, 1)), torch.randn(8, 1)
        loss = F.smooth_l1_loss(net(s).gather(1, a), target)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net, before


def verify(out):
    net, before = out
    assert torch.equal(net[2].weight_mu, before)


TRUTH = Truth(
    fault="the mean weights get no gradient",
    names=("weight_mu",),
    repair=("weight = self.weight_mu + self.weight_sigma * self.weight_eps",),
)
