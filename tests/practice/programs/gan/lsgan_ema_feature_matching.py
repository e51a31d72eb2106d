"""Feature matching: real features are constants, the fake ones keep their graph, and weights average into a sampler."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Multi(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(6, 16), nn.Linear(16, 16), nn.Linear(16, 1)])

    def forward(self, x):
        feats = []
        for layer in self.layers[:-1]:
            x = F.leaky_relu(layer(x), 0.2)
            feats.append(x)
        return self.layers[-1](x), feats


@torch.no_grad()
def accumulate(average, model, decay):
    ema, now = dict(average.named_parameters()), dict(model.named_parameters())
    for k in ema:
        ema[k].mul_(decay).add_(now[k], alpha=1 - decay)
    for k, v in model.named_buffers():
        dict(average.named_buffers())[k].copy_(v)


def run():
    torch.manual_seed(0)
    G = nn.Sequential(nn.Linear(3, 16, bias=False), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 6))
    D = Multi()
    G_ema = copy.deepcopy(G).eval().requires_grad_(False)
    fixed = torch.randn(4, 3)
    opt_G, opt_D = torch.optim.Adam(G.parameters(), 2e-3), torch.optim.Adam(D.parameters(), 2e-3)
    log, snapshots = [], []
    for _ in range(3):
        real, z = torch.randn(8, 6), torch.randn(8, 3)
        fake = G(z)
        real_score, _ = D(real)
        fake_score, _ = D(fake.detach())
        d_loss = (real_score - 1).pow(2).mean() + fake_score.pow(2).mean()
        D.zero_grad(set_to_none=True)
        d_loss.backward()
        opt_D.step()

        D.requires_grad_(False)
        with torch.no_grad():
            _, real_feats = D(real)
        score, fake_feats = D(fake)
        matching = sum(F.l1_loss(f, r) for f, r in zip(fake_feats, real_feats))
        g_loss = (score - 1).pow(2).mean() + 10 * matching
        G.zero_grad(set_to_none=True)
        g_loss.backward()
        opt_G.step()
        D.requires_grad_(True)
        accumulate(G_ema, G, 0.9)
        log.append((d_loss.item(), g_loss.item()))
        with torch.no_grad():
            snapshots.append(G_ema(fixed).clamp(-1, 1))
    return G, D, G_ema, log, snapshots


TRUTH = Truth()


def verify(out):
    G, D, G_ema, log, snapshots = out
    assert all(p.grad.abs().sum() > 0 for m in (G, D) for p in m.parameters())
    assert all(p.grad is None for p in G_ema.parameters()) and not torch.equal(snapshots[0], snapshots[-1])
    assert all(0 < v < 1e3 for row in log for v in row)
