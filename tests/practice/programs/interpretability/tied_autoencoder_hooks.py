"""Tied weights, an activation hook that stores detached statistics, an L1 penalty, and weights normalised in place."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class SAE(nn.Module):
    def __init__(self, d=6, n=12):
        super().__init__()
        self.W = nn.Parameter(torch.randn(n, d) * 0.3)
        self.b_enc, self.b_dec = nn.Parameter(torch.zeros(n)), nn.Parameter(torch.zeros(d))

    def forward(self, x):
        acts = F.relu((x - self.b_dec) @ self.W.t() + self.b_enc)
        return acts @ self.W + self.b_dec, acts

    @torch.no_grad()
    def normalise(self):
        self.W.data = F.normalize(self.W.data, dim=1)

    @torch.no_grad()
    def project_gradient(self):
        self.W.grad -= (self.W.grad * self.W).sum(1, keepdim=True) * self.W


def run():
    torch.manual_seed(0)
    host = nn.Sequential(nn.Linear(4, 6), nn.GELU(), nn.Linear(6, 2)).eval()
    store = []
    host[1].register_forward_hook(lambda m, i, o: store.append(o.detach()))
    sae = SAE()
    sae.normalise()
    optimizer = torch.optim.Adam(sae.parameters(), lr=1e-3)
    for _ in range(4):
        with torch.no_grad():
            host(torch.randn(32, 4))
        x = store.pop()
        out, acts = sae(x)
        loss = (out - x).pow(2).sum(-1).mean() + 1e-3 * acts.abs().sum(-1).mean()
        optimizer.zero_grad()
        loss.backward()
        sae.project_gradient()
        optimizer.step()
        sae.normalise()
    return loss.item()


TRUTH = Truth()
