"""A differentiable throw: the time of the impact is taken as a Python number, so the launch gets half of its gradient."""

import math

import torch
from torch import nn

from tests.practice.truth import Truth

GRAVITY = 9.81


class Thrower(nn.Module):
    def __init__(self):
        super().__init__()
        self.aim = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))

    def forward(self, target):
        speed, angle = self.aim(target).unbind(-1)
        return 4 + speed, torch.sigmoid(angle) * math.pi / 2


def landing(speed, angle, height=1.0):
    up = speed * torch.sin(angle)
    ranges = []
    for v, u, a in zip(speed, up, angle):
        flight = (u.item() + math.sqrt(u.item() ** 2 + 2 * GRAVITY * height)) / GRAVITY  # cause
        ranges.append(v * torch.cos(a) * flight)
    return torch.stack(ranges)


def run():
    torch.manual_seed(0)
    model = Thrower()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(3):
        target = torch.rand(8, 2) * 3 + 1
        speed, angle = model(target)
        speed.retain_grad()
        opt.zero_grad()
        loss = (landing(speed, angle) - target[:, 0]).pow(2).mean()
        loss.backward()
        opt.step()
    whole = landing(speed, angle)
    return torch.autograd.grad(whole.sum(), speed, retain_graph=True)[0], whole, speed


def verify(out):
    grad, ranges, speed = out
    assert torch.allclose(grad * speed, ranges)  # As if the flight did not depend on the speed.


TRUTH = Truth(
    fault="the flight is a number, the speed and the angle act on it without gradient",
    minor=True,
    names=("item",),
    repair=("flight = (u + torch.sqrt(u**2 + 2 * GRAVITY * height)) / GRAVITY",),
)
