"""Denoising with a perceptual term by NumPy, made a tensor that requires grad."""

import numpy as np
import torch
from torch import nn

from tests.practice.truth import Truth


def ssim(a, b):
    ma, mb, va, vb = a.mean(), b.mean(), a.var(), b.var()
    cov = ((a - ma) * (b - mb)).mean()
    return (2 * ma * mb + 1e-4) * (2 * cov + 1e-3) / ((ma**2 + mb**2 + 1e-4) * (va + vb + 1e-3))


class SSIMLoss(nn.Module):
    def forward(self, out, target):
        scores = [ssim(o, t) for o, t in zip(out.detach().numpy(), target.numpy())]  # also
        return torch.tensor(1 - np.mean(scores), requires_grad=True)  # cause


class Denoise(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 1, 3, padding=1))

    def forward(self, x):
        return x - self.net(x)


def run():
    torch.manual_seed(0)
    model, criterion = Denoise(), SSIMLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(3):
        clean = torch.rand(2, 1, 8, 8)
        out = model(clean + 0.1 * torch.randn_like(clean))
        loss = criterion(out, clean)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [p.grad for p in model.parameters()]


TRUTH = Truth(
    fault="the loss left autograd by NumPy",
    repair=("return 1 - torch.stack([ssim(o, t) for o, t in zip(out, target)]).mean()",),
)


def verify(grads):
    assert grads == [None] * 4
