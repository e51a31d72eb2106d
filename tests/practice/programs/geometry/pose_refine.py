"""Refine planar camera poses together with a small radiance-like field."""

import torch
from torch import nn

from tests.practice.truth import Truth, fails


class PoseBank(nn.Module):
    def __init__(self, n_views):
        super().__init__()
        self.angle = nn.Parameter(torch.zeros(n_views))
        self.shift = nn.Parameter(torch.zeros(n_views, 2))

    def rotation(self, i):
        c, s = self.angle[i].cos(), self.angle[i].sin()
        return torch.tensor([[c, -s], [s, c]])  # cause

    def forward(self, i, pts):
        return pts @ self.rotation(i).t() + self.shift[i]


class Field(nn.Module):
    def __init__(self, bands=3, width=24):
        super().__init__()
        self.register_buffer("freq", 2.0 ** torch.arange(bands))
        self.mlp = nn.Sequential(nn.Linear(4 * bands, width), nn.ReLU(), nn.Linear(width, 3), nn.Sigmoid())

    def forward(self, x):
        a = (x[:, None, :] * self.freq[:, None]).flatten(1)
        return self.mlp(torch.cat([a.sin(), a.cos()], -1))


def fit(field, poses, views, steps=8):
    opt = torch.optim.Adam(
        [
            {"params": field.parameters(), "lr": 5e-3},
            {"params": poses.parameters(), "lr": 1e-3},
        ]
    )
    for step in range(steps):
        i = step % len(views)
        pts, colour = views[i]
        loss = (field(poses(i, pts)) - colour).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


def run():
    torch.manual_seed(0)
    views = []
    for k in range(2):
        pts = torch.rand(40, 2)
        colour = torch.stack([pts[:, 0], pts[:, 1], (3 * pts.sum(-1) + k).sin().abs()], -1)
        views.append((pts, colour))
    poses = PoseBank(2)
    fit(Field(), poses, views)
    return poses


TRUTH = Truth(
    fault="the rotation is rebuilt from numbers, so the angles get no gradient",
    names=("angle",),
    repair=("return torch.stack([torch.stack([c, -s]), torch.stack([s, c])])",),
)


def well(out):
    assert out.shift.abs().min() > 0 and out.angle.abs().min() > 0


verify = fails(well)
