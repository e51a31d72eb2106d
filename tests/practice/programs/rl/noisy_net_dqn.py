"""NoisyNet DQN: noise is drawn into buffers before each forward, the target is a copy."""

import copy
import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class NoisyLinear(nn.Module):
    def __init__(self, n_in, n_out, std=0.5):
        super().__init__()
        bound = 1 / math.sqrt(n_in)
        self.weight_mu = nn.Parameter(torch.empty(n_out, n_in))
        self.weight_sigma = nn.Parameter(torch.empty(n_out, n_in))
        self.bias = nn.Parameter(torch.zeros(n_out))
        self.register_buffer("weight_eps", torch.zeros(n_out, n_in))
        self.weight_mu.data.uniform_(-bound, bound)
        self.weight_sigma.data.fill_(std * bound)

    def resample(self):
        self.weight_eps.copy_(torch.randn(self.weight_eps.shape[0]).outer(torch.randn(self.weight_eps.shape[1])))

    def forward(self, x):
        return F.linear(x, self.weight_mu + self.weight_sigma * self.weight_eps, self.bias)


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), NoisyLinear(16, 2))
    target = copy.deepcopy(net)
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    for step in range(4):
        net[2].resample()
        target[2].resample()
        s, a, r, s2 = torch.randn(8, 4), torch.randint(2, (8, 1)), torch.randn(8, 1), torch.randn(8, 4)
        best = net(s2).argmax(1, keepdim=True)
        y = r + 0.99 * target(s2).gather(1, best).detach()
        loss = F.smooth_l1_loss(net(s).gather(1, a), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 2:
            target.load_state_dict(net.state_dict())
    return net


TRUTH = Truth()
