"""The fakes that were made without a graph for the discriminator serve the generator's loss as well."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    G = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    D = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(), nn.Linear(8, 1))
    g_opt, d_opt = torch.optim.Adam(G.parameters(), 1e-3), torch.optim.Adam(D.parameters(), 1e-3)
    for _ in range(3):
        real, z = torch.randn(16, 2), torch.randn(16, 4)
        with torch.no_grad():  # also
            fake = G(z)  # also
        d_loss = F.softplus(-D(real)).mean() + F.softplus(D(fake)).mean()
        d_opt.zero_grad()
        d_loss.backward()
        d_opt.step()
        g_loss = F.softplus(-D(fake)).mean()  # cause
        g_opt.zero_grad()
        g_loss.backward()
        g_opt.step()
    return G


def verify(out):
    assert out[0].weight.grad is None


TRUTH = Truth(
    fault="the generator's loss is computed from fakes without a graph",
    names=("0.weight",),
    repair=("g_loss = F.softplus(-D(G(z))).mean()",),
)
