"""The fake batch is not detached for the discriminator, and the generator's gradients are cleared before that only."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    G, D = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    opt_g, opt_d = torch.optim.SGD(G.parameters(), 0.1), torch.optim.SGD(D.parameters(), 0.1)
    same = []
    for _ in range(2):
        opt_g.zero_grad()
        opt_d.zero_grad()
        fake = G(torch.randn(8, 2))
        d_loss = F.softplus(D(fake)).mean() + F.softplus(-D(torch.randn(8, 3))).mean()  # cause
        d_loss.backward(retain_graph=True)
        opt_d.step()
        for p in D.parameters():
            p.requires_grad_(False)
        g_loss = F.softplus(-D(fake)).mean()
        alone = torch.autograd.grad(g_loss, G.weight, retain_graph=True)[0]
        g_loss.backward()
        same.append(torch.equal(alone, G.weight.grad))
        opt_g.step()
        for p in D.parameters():
            p.requires_grad_(True)
    return same


def verify(out):
    assert out == [False, False]


TRUTH = Truth(
    fault="the generator steps on the discriminator's loss too",
    repair=("d_loss = F.softplus(D(fake.detach())).mean() + F.softplus(-D(torch.randn(8, 3))).mean()",),
)
