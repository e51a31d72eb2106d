"""The generator's turn freezes the discriminator, nobody thaws it, and its optimizer goes on stepping."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    G, D = nn.Linear(2, 3), nn.Linear(3, 1)
    opt_g, opt_d = torch.optim.Adam(G.parameters(), 1e-2), torch.optim.Adam(D.parameters(), 1e-2)
    graphs = []
    for _ in range(3):
        z = torch.randn(8, 2)
        d_loss = F.softplus(D(G(z).detach())).mean() + F.softplus(-D(torch.randn(8, 3))).mean()
        opt_d.zero_grad()
        if d_loss.requires_grad:
            d_loss.backward()
        opt_d.step()
        graphs.append(d_loss.requires_grad)
        for p in D.parameters():
            p.requires_grad = False  # cause
        g_loss = F.softplus(-D(G(z))).mean()
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()
    return graphs


def verify(out):
    assert out == [True, False, False]


TRUTH = Truth(
    fault="the discriminator learns in the first step only",
    repair=("p.grad = None",),
)
