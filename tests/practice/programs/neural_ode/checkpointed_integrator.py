"""A long integration recomputes its segments by checkpointing; the step sizes are found under no_grad beforehand."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 16), nn.SiLU(), nn.Linear(16, 2))

    def forward(self, t, z):
        return self.net(torch.cat([z, t.expand(len(z), 1)], 1))


def rk4(f, t, h, z):
    k1 = f(t, z)
    k2 = f(t + h / 2, z + h / 2 * k1)
    k3 = f(t + h / 2, z + h / 2 * k2)
    k4 = f(t + h, z + h * k3)
    return z + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


@torch.no_grad()
def plan_steps(f, z, tol):
    t, h, steps = 0.0, 0.5, []
    while t < 1.0 - 1e-9:
        h = min(h, 1.0 - t)
        now = torch.tensor(t)
        whole = rk4(f, now, h, z)
        half = rk4(f, now + h / 2, h / 2, rk4(f, now, h / 2, z))
        if (whole - half).abs().max().item() > tol and h > 0.1:
            h /= 2
            continue
        steps.append((t, h))
        t, z, h = t + h, half, h * 1.5
    return steps


def integrate(f, z, steps):
    for t, h in steps:
        z = checkpoint(rk4, f, torch.tensor(t), h, z, use_reentrant=False)
    return z


def run():
    torch.manual_seed(0)
    f = Field()
    optimizer = torch.optim.SGD(f.parameters(), lr=0.1, momentum=0.9)
    losses, counts = [], []
    angle = torch.tensor(0.6)
    rot = torch.stack([torch.stack([angle.cos(), -angle.sin()]), torch.stack([angle.sin(), angle.cos()])])
    for _ in range(3):
        z0 = torch.randn(16, 2)
        steps = plan_steps(f, z0, 1e-4)
        loss = (integrate(f, z0, steps) - z0 @ rot.T).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        counts.append(len(steps))
    return f, losses, counts


TRUTH = Truth()


def verify(out):
    f, losses, counts = out
    assert all(p.grad.abs().sum() > 0 for p in f.parameters())
    assert all(c >= 2 for c in counts) and all(0 < loss < 100 for loss in losses)
