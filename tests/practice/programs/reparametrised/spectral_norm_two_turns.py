"""Spectral norm in a critic: its vectors are buffers that move in training only, in place and without a gradient."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.parametrizations import spectral_norm

from tests.practice.truth import Truth


def critic():
    return nn.Sequential(
        spectral_norm(nn.Conv1d(1, 8, 3)),
        nn.LeakyReLU(0.1),
        nn.Flatten(),
        spectral_norm(nn.Linear(48, 16)),
        nn.LeakyReLU(0.1),
        spectral_norm(nn.Linear(16, 1)),
    )


def run():
    torch.manual_seed(0)
    D, G = critic(), nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 8), nn.Unflatten(1, (1, 8)))
    opt_D, opt_G = (
        torch.optim.Adam(D.parameters(), 1e-3, betas=(0.0, 0.9)),
        torch.optim.Adam(G.parameters(), 1e-3, betas=(0.0, 0.9)),
    )
    u = D[3].parametrizations.weight[0]._u.clone()
    log = []
    for _ in range(3):
        for _ in range(2):
            real = torch.sin(torch.linspace(0, 3, 8) + torch.rand(6, 1, 1))
            with torch.no_grad():
                fake = G(torch.randn(6, 3))
            d_loss = F.relu(1 - D(real)).mean() + F.relu(1 + D(fake)).mean()
            opt_D.zero_grad()
            d_loss.backward()
            opt_D.step()
        g_loss = -D(G(torch.randn(6, 3))).mean()
        opt_G.zero_grad()
        g_loss.backward()
        opt_G.step()
        log.append((d_loss.item(), g_loss.item()))
    D.eval()
    with torch.no_grad():
        norms = [torch.linalg.matrix_norm(D[i].weight.flatten(1), 2).item() for i in (0, 3, 5)]
    return D, G, u, log, norms


TRUTH = Truth()


def verify(out):
    D, G, u, log, norms = out
    assert not torch.equal(u, D[3].parametrizations.weight[0]._u) and all(n < 2 for n in norms)
    assert all(p.grad is not None for m in (D, G) for p in m.parameters())
    assert all(abs(v) < 100 for row in log for v in row)
