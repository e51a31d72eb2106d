"""A hand-written spectral norm moves its vector in place at each forward, while an earlier forward still needs it."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class SNLinear(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(o, i) / i**0.5)
        self.bias = nn.Parameter(torch.zeros(o))
        self.register_buffer("u", F.normalize(torch.randn(o), dim=0))
        self.register_buffer("v", F.normalize(torch.randn(i), dim=0))

    def normalised(self):
        with torch.no_grad():
            self.v.copy_(F.normalize(self.weight.t() @ self.u, dim=0))  # cause
            self.u.copy_(F.normalize(self.weight @ self.v, dim=0))  # also
        sigma = torch.dot(self.u, self.weight @ self.v)
        return self.weight / sigma

    def forward(self, x):
        return F.linear(x, self.normalised(), self.bias)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(SNLinear(6, 16), nn.LeakyReLU(0.1), SNLinear(16, 1))

    def forward(self, x):
        return self.layers(x)


def run(steps=2):
    torch.manual_seed(0)
    G, D = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 6)), Critic()
    opt_g = torch.optim.Adam(G.parameters(), lr=1e-4, betas=(0.0, 0.9))
    opt_d = torch.optim.Adam(D.parameters(), lr=4e-4, betas=(0.0, 0.9))
    for _ in range(steps):
        real, fake = torch.randn(8, 6), G(torch.randn(8, 3))
        d_loss = F.relu(1 - D(real)).mean() + F.relu(1 + D(fake.detach())).mean()
        opt_d.zero_grad()
        d_loss.backward()  # symptom
        opt_d.step()
        g_loss = -D(fake).mean()
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()


TRUTH = Truth(
    fault="the vector of the power iteration is saved by the first forward and moved by the second",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("copy_",),
    repair=("self.u, self.v = self.u.clone(), F.normalize(self.weight.t() @ self.u, dim=0)",),
)
