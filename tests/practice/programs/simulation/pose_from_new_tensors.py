"""A silhouette is fitted by a pose: the rotation matrix is made of the angle by `torch.tensor`."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Pose(nn.Module):
    def __init__(self):
        super().__init__()
        self.angle = nn.Parameter(torch.tensor(0.3))
        self.shift = nn.Parameter(torch.zeros(2))

    def forward(self, points):
        c, s = torch.cos(self.angle), torch.sin(self.angle)
        rotation = torch.tensor([[c, -s], [s, c]])  # cause
        return points @ rotation.T + self.shift


def splat(points, size=12, sigma=0.15):
    axis = torch.linspace(-1, 1, size)
    grid = torch.stack(torch.meshgrid(axis, axis, indexing="ij"), -1).view(-1, 1, 2)
    density = torch.exp(-((grid - points) ** 2).sum(-1) / (2 * sigma**2))
    return (1 - (1 - 0.9 * density).prod(1)).view(size, size)


def run():
    torch.manual_seed(0)
    points = torch.rand(15, 2) - 0.5
    points[:, 0] *= 2
    target = splat(points.roll(1, 1)).detach()
    pose = Pose()
    opt = torch.optim.Adam(pose.parameters(), lr=0.05)
    for _ in range(4):
        opt.zero_grad()
        image = splat(pose(points))
        loss = (image - target).pow(2).mean() + 1e-3 * pose.shift.pow(2).sum()
        loss.backward()
        opt.step()
    return pose.angle.item()


def verify(out):
    assert abs(out - 0.3) < 1e-6


TRUTH = Truth(
    fault="the matrix is made of numbers",
    names=("angle", "torch.tensor"),
    repair=("rotation = torch.stack([torch.stack([c, -s]), torch.stack([s, c])])",),
)
