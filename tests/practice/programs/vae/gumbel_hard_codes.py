"""A discrete VAE by hard Gumbel-softmax, whose temperature is annealed as a plain number."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class CategoricalVAE(nn.Module):
    def __init__(self, n=3, k=4):
        super().__init__()
        self.n, self.k = n, k
        self.enc = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, n * k))
        self.dec = nn.Sequential(nn.Linear(n * k, 16), nn.ReLU(), nn.Linear(16, 10))

    def forward(self, x, temp):
        logits = self.enc(x).view(-1, self.n, self.k)
        if self.training:
            z = F.gumbel_softmax(logits, tau=temp, hard=True)
        else:
            z = F.one_hot(logits.argmax(-1), self.k).float()
        return self.dec(z.flatten(1)), logits


def run():
    torch.manual_seed(0)
    model = CategoricalVAE()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    temp, temps, losses = 1.0, [], []
    for step in range(4):
        x = (torch.rand(8, 10) > 0.5).float()
        recon, logits = model(x, temp)
        bce = F.binary_cross_entropy_with_logits(recon, x, reduction="sum") / len(x)
        q = logits.softmax(-1)
        kld = (q * (logits.log_softmax(-1) + math.log(model.k))).sum((1, 2)).mean()
        loss = bce + kld
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        temp = max(temp * math.exp(-0.1 * step), 0.5)
        temps.append(temp)
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        recon, _ = model(x, temp)
        mismatch = ((recon > 0).float() != x).float().mean().item()
    return model, temps, losses, mismatch


TRUTH = Truth()


def verify(out):
    model, temps, losses, mismatch = out
    assert temps[-1] < temps[0] and all(0 < loss < 100 for loss in losses)
    assert all(p.grad.abs().sum() > 0 for p in model.parameters()) and 0 <= mismatch <= 1
