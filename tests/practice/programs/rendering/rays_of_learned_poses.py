"""Camera poses are refined together with a scene, but the rays are computed from them once, before the loop."""

import torch
from torch import nn

from tests.practice.truth import Truth


def rotation(w):
    zero = torch.zeros_like(w[:, 0])
    x, y, z = w.unbind(-1)
    skew = torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], -1).view(-1, 3, 3)
    return torch.matrix_exp(skew)


class Poses(nn.Module):
    def __init__(self, cameras):
        super().__init__()
        self.turn = nn.Parameter(torch.zeros(cameras, 3))
        self.shift = nn.Parameter(torch.zeros(cameras, 3))

    def rays(self, pixels):
        directions = pixels @ rotation(self.turn).transpose(1, 2)
        origins = self.shift.unsqueeze(1).expand_as(directions)
        return origins, directions


class Scene(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3), nn.Sigmoid())

    def forward(self, origins, directions):
        return self.net(torch.cat([origins, nn.functional.normalize(directions, dim=-1)], -1))


def pixel_grid(size=3):
    axis = torch.linspace(-0.5, 0.5, size)
    x, y = torch.meshgrid(axis, axis, indexing="xy")
    return torch.stack([x.flatten(), y.flatten(), torch.ones(size * size)], -1).unsqueeze(0)


def run(iterations=3):
    torch.manual_seed(0)
    poses, scene, images = Poses(4), Scene(), torch.rand(4, 9, 3)
    optimizer = torch.optim.Adam([*scene.parameters()], lr=1e-3)
    pose_optimizer = torch.optim.Adam(poses.parameters(), lr=1e-4)
    origins, directions = poses.rays(pixel_grid())  # cause
    for _ in range(iterations):
        camera = torch.randint(0, 4, (2,))
        predicted = scene(origins[camera], directions[camera])
        loss = (predicted - images[camera]).pow(2).mean()
        optimizer.zero_grad()
        pose_optimizer.zero_grad()
        loss.backward()  # symptom
        optimizer.step()
        pose_optimizer.step()
    return loss


TRUTH = Truth(
    fault="the rays' graph is made once and used by each backward",
    raises="Trying to backward through the graph a second time",
    names=("rays",),
    repair=(
        "class _Fresh:\n    def __init__(self, k): self.k = k\n"
        "    def __getitem__(self, i): return poses.rays(pixel_grid())[self.k][i]\n"
        "origins, directions = _Fresh(0), _Fresh(1)",
    ),
)
