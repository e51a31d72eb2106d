"""A feature grid is interpolated at rays of refined poses: indices are cut off, the weights of the corners are not."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Grid(nn.Module):
    def __init__(self, resolution=5, channels=4):
        super().__init__()
        self.resolution = resolution
        self.values = nn.Parameter(torch.randn(resolution**3, channels) * 0.1)
        self.register_buffer("corners", torch.cartesian_prod(*[torch.arange(2)] * 3))

    def forward(self, points):
        scaled = (points.clamp(-0.999, 0.999) + 1) / 2 * (self.resolution - 1)
        low = scaled.floor()
        part = scaled - low.detach()
        base = low.long()
        out = 0.0
        for corner in self.corners:
            cell = base + corner
            index = (cell[..., 0] * self.resolution + cell[..., 1]) * self.resolution + cell[..., 2]
            weight = torch.where(corner == 1, part, 1 - part).prod(-1, keepdim=True)
            out = out + weight * self.values[index]
        return out


class Poses(nn.Module):
    def __init__(self, n=3):
        super().__init__()
        self.delta = nn.Embedding(n, 6)
        nn.init.zeros_(self.delta.weight)

    def forward(self, camera, directions):
        turn, shift = self.delta(camera).chunk(2, -1)
        return 0.1 * shift, directions + torch.linalg.cross(turn, directions)


class Scene(nn.Module):
    def __init__(self):
        super().__init__()
        self.grid, self.poses = Grid(), Poses()
        self.decode = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 4))

    def forward(self, camera, directions, samples=5):
        origin, directions = self.poses(camera, directions)
        depth = torch.linspace(0.1, 0.8, samples) + 0.05 * torch.rand(len(camera), samples)
        points = origin[:, None] + depth[..., None] * directions[:, None]
        colour, density = self.decode(self.grid(points)).split([3, 1], -1)
        alpha = 1 - torch.exp(-nn.functional.softplus(density) * 0.2)
        past = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-10], 1), 1)[:, :-1]
        return (alpha * past * colour.sigmoid()).sum(1)


def run(steps=3):
    torch.manual_seed(0)
    scene = Scene()
    optimizer = torch.optim.Adam(
        [
            {"params": scene.grid.parameters(), "lr": 1e-2},
            {"params": scene.decode.parameters(), "lr": 1e-3},
            {"params": scene.poses.parameters(), "lr": 1e-4},
        ]
    )
    for _ in range(steps):
        directions = nn.functional.normalize(torch.randn(8, 3), dim=-1)
        camera = torch.randint(0, 3, (8,))
        loss = (scene(camera, directions) - torch.rand(8, 3)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return scene


TRUTH = Truth()


def verify(scene):
    assert scene.poses.delta.weight.grad.abs().sum() > 0
