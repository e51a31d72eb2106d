"""NT-Xent: the diagonal is filled after exp, which saved its result."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def info_nce(z1, z2, t=0.5):
    z = F.normalize(torch.cat([z1, z2]), dim=1)
    sim = torch.exp(z @ z.T / t)
    sim.fill_diagonal_(0)  # cause
    n = z1.size(0)
    pos = torch.cat([sim.diagonal(n), sim.diagonal(-n)])
    return -(pos / sim.sum(1)).log().mean()


def run():
    torch.manual_seed(0)
    enc = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8))
    opt = torch.optim.SGD(enc.parameters(), 0.1)
    for _ in range(2):
        x = torch.randn(8, 6)
        loss = info_nce(enc(x + 0.1 * torch.randn_like(x)), enc(x + 0.1 * torch.randn_like(x)))
        opt.zero_grad()
        loss.backward()
        opt.step()


TRUTH = Truth(
    fault="the saved result of exp is modified in place",
    raises="one of the variables needed for gradient",
    names=("exp",),
    repair=("sim = sim * (1 - torch.eye(len(sim)))",),
)
