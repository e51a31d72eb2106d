"""The generator's backward fills D's gradients, which are cleared before D's own backward."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    G, D = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    opt_g, opt_d = torch.optim.SGD(G.parameters(), 0.1), torch.optim.SGD(D.parameters(), 0.1)
    for _ in range(2):
        fake = G(torch.randn(8, 2))
        opt_g.zero_grad()
        F.softplus(-D(fake)).mean().backward()
        opt_g.step()
        opt_d.zero_grad()
        (F.softplus(D(fake.detach())).mean() + F.softplus(-D(torch.randn(8, 3))).mean()).backward()
        opt_d.step()


TRUTH = Truth()
