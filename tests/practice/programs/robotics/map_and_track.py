"""Robotics: the map is to be frozen while the pose is tracked, but the attribute set on its parameters has a typing error."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class SceneMap(nn.Module):
    """An occupancy field with a positional encoding."""

    def __init__(self, bands=3, width=24):
        super().__init__()
        self.register_buffer("bands", 2.0 ** torch.arange(bands))
        self.decoder = nn.Sequential(nn.Linear(4 * bands, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, xy):
        angle = xy[..., None] * self.bands
        features = torch.cat([angle.sin(), angle.cos()], dim=-1).flatten(-2)
        return self.decoder(features).squeeze(-1)


class Pose(nn.Module):
    def __init__(self):
        super().__init__()
        self.theta = nn.Parameter(torch.zeros(()))
        self.shift = nn.Parameter(torch.zeros(2))

    def forward(self, points):
        c, s = self.theta.cos(), self.theta.sin()
        rotation = torch.stack([torch.stack([c, -s]), torch.stack([s, c])])
        return points @ rotation.t() + self.shift


class Slam:
    def __init__(self, lr_map=1e-2, lr_pose=1e-2):
        self.map = SceneMap()
        self.poses = []
        self.lr_pose = lr_pose
        self.optimizer = torch.optim.Adam(self.map.parameters(), lr=lr_map)

    def freeze_map(self):
        for param in self.map.parameters():
            param.require_grad = False  # cause

    def unfreeze_map(self):
        for param in self.map.parameters():
            param.requires_grad = True

    def track(self, scan, occupied, steps=2):
        pose = Pose()
        self.freeze_map()
        self.optimizer.add_param_group({"params": pose.parameters(), "lr": self.lr_pose})
        for _ in range(steps):
            self.optimizer.zero_grad()
            F.binary_cross_entropy_with_logits(self.map(pose(scan)), occupied).backward()
            self.optimizer.step()
        self.optimizer.param_groups.pop()
        self.unfreeze_map()
        self.poses.append(pose.requires_grad_(False))

    def mapping(self, scan, occupied):
        self.optimizer.zero_grad()
        with torch.no_grad():
            world = self.poses[-1](scan) if self.poses else scan
        F.binary_cross_entropy_with_logits(self.map(world), occupied).backward()
        self.optimizer.step()


def lidar(n=40):
    scan = torch.randn(n, 2)
    return scan, (scan.norm(dim=1) > 1).float()


def run():
    torch.manual_seed(0)
    slam = Slam()
    slam.mapping(*lidar())
    held = [p.detach().clone() for p in slam.map.parameters()]
    slam.track(*lidar())
    moved = [not torch.equal(h, p) for h, p in zip(held, slam.map.parameters())]
    slam.mapping(*lidar())
    return moved, slam.poses[0].shift.abs().max().item()


def verify(outcome):
    moved, shift = outcome
    assert shift > 0
    assert all(moved)


TRUTH = Truth(
    fault="`require_grad` instead of `requires_grad`: the map is not frozen and moves while only the pose should",
    names=("requires_grad", "map"),
    repair=("param.requires_grad = False",),
)
