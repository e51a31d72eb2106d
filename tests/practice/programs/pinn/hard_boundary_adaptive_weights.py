"""A net that fulfils its boundary by its form; weights of the residual's points ascend by a flipped gradient."""

import math

import torch
from torch import nn

from tests.practice.truth import Truth


class Solution(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, x):
        return x * (1 - x) * self.net(x)


def laplacian(f, x):
    (df,) = torch.autograd.grad(f.sum(), x, create_graph=True)
    (d2f,) = torch.autograd.grad(df.sum(), x, create_graph=True)
    return d2f


def run():
    torch.manual_seed(0)
    model = Solution()
    lam = nn.Parameter(torch.ones(32, 1))
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    opt_lam = torch.optim.Adam([lam], lr=5e-2, maximize=True)
    x = torch.linspace(0.01, 0.99, 32)[:, None].requires_grad_(True)
    forcing = -(math.pi**2) * torch.sin(math.pi * x.detach())
    history, errors = [], []
    for step in range(4):
        res = laplacian(model(x), x) - forcing
        loss = (lam.pow(2) * res.pow(2)).mean()
        opt.zero_grad()
        opt_lam.zero_grad()
        loss.backward()
        opt.step()
        opt_lam.step()
        with torch.no_grad():
            lam.div_(lam.mean())
            errors.append((model(x) - torch.sin(math.pi * x)).abs().max().item())
        x.grad = None
        history.append(loss.item())
    return model, lam, history, errors


TRUTH = Truth()


def verify(out):
    model, lam, history, errors = out
    assert all(p.grad.abs().sum() > 0 for p in model.parameters())
    assert lam.std() > 0 and abs(lam.mean().item() - 1) < 1e-4 and all(h < 1e4 for h in history)
