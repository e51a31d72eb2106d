"""A neural ODE with a learned integration time: linspace reads the time's number, and it gets no gradient."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Field(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, 16), nn.Softplus(), nn.Linear(16, dim))

    def forward(self, t, z):
        return torch.tanh(self.net(z)) * torch.exp(-t)


def heun(func, z, ts):
    for t0, t1 in zip(ts[:-1], ts[1:]):
        dt = t1 - t0
        k1 = func(t0, z)
        k2 = func(t1, z + dt * k1)
        z = z + dt * (k1 + k2) / 2
    return z


class ContinuousResNet(nn.Module):
    def __init__(self, inp=2, augment=2, classes=2, steps=5):
        super().__init__()
        self.augment, self.steps = augment, steps
        self.field = Field(inp + augment)
        self.horizon = nn.Parameter(torch.tensor(0.5))
        self.fc = nn.Linear(inp + augment, classes)

    def forward(self, x):
        z = F.pad(x, (0, self.augment))
        ts = torch.linspace(0.0, self.horizon, self.steps)  # cause
        return self.fc(heun(self.field, z, ts))


def rings(n):
    radius = torch.where(torch.rand(n) < 0.5, 0.5, 1.5)
    angle = torch.rand(n) * 2 * torch.pi
    xy = radius[:, None] * torch.stack([angle.cos(), angle.sin()], 1)
    return xy + 0.05 * torch.randn(n, 2), (radius > 1).long()


def run():
    torch.manual_seed(0)
    model = ContinuousResNet()
    slow = [model.horizon]
    rest = [p for n, p in model.named_parameters() if n != "horizon"]
    opt = torch.optim.Adam([{"params": rest}, {"params": slow, "lr": 1e-3}], lr=1e-2)
    for epoch in range(3):
        x, y = rings(32)
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"epoch {epoch} loss {loss.item():.4f} T {model.horizon.item():.4f}")
    return model


def verify(out):
    assert out.horizon.grad is None


TRUTH = Truth(
    fault="the learned time enters by its number only",
    names=("horizon",),
    repair=("ts = torch.linspace(0.0, 1.0, self.steps) * self.horizon",),
)
