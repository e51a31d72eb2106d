"""A deformable voxel grid: the deformed points are rounded to look the voxels up, so the deformation learns nothing."""

import torch
from torch import nn

from tests.practice.truth import Truth


class VoxelGrid(nn.Module):
    def __init__(self, resolution=6, channels=4):
        super().__init__()
        self.resolution = resolution
        self.values = nn.Parameter(torch.randn(resolution**3, channels) * 0.1)

    def forward(self, points):
        scaled = (points.clamp(-1, 1) + 1) / 2 * (self.resolution - 1)
        cell = scaled.round().long()  # cause
        index = (cell[..., 0] * self.resolution + cell[..., 1]) * self.resolution + cell[..., 2]
        return self.values[index]


class Deformation(nn.Module):
    def __init__(self, latent=3):
        super().__init__()
        self.codes = nn.Embedding(4, latent)
        self.net = nn.Sequential(nn.Linear(3 + latent, 24), nn.ReLU(), nn.Linear(24, 3))
        nn.init.uniform_(self.net[-1].weight, -1e-4, 1e-4)

    def forward(self, points, frame):
        code = self.codes(frame).unsqueeze(1).expand(-1, points.shape[1], -1)
        return points + self.net(torch.cat([points, code], -1))


class Scene(nn.Module):
    def __init__(self):
        super().__init__()
        self.grid, self.deformation = VoxelGrid(), Deformation()
        self.decode = nn.Linear(4, 4)

    def forward(self, points, frame):
        features = self.grid(self.deformation(points, frame))
        colour, density = self.decode(features).split([3, 1], -1)
        alpha = 1 - torch.exp(-nn.functional.softplus(density) * 0.2)
        past = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-10], 1), 1)[:, :-1]
        return (alpha * past * torch.sigmoid(colour)).sum(1)


def run(steps=3):
    torch.manual_seed(0)
    scene = Scene()
    before = scene.deformation.net[0].weight.detach().clone()
    groups = [
        {"params": scene.grid.parameters(), "lr": 2e-2},
        {"params": [*scene.deformation.parameters(), *scene.decode.parameters()], "lr": 1e-3},
    ]
    optimizer = torch.optim.Adam(groups)
    for _ in range(steps):
        points, frame = torch.rand(6, 5, 3) * 2 - 1, torch.randint(0, 4, (6,))
        loss = (scene(points, frame) - torch.rand(6, 3)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return scene.deformation.net[0].weight, before


def verify(out):
    assert torch.equal(*out)


TRUTH = Truth(
    fault="an integer index has no gradient, and the deformation reaches the loss by it alone",
    names=("deformation", "long"),
    repair=(
        "low = scaled.floor().clamp(max=self.resolution - 2); part = scaled - low; total = 0\n"
        "for corner in torch.cartesian_prod(*[torch.arange(2)] * 3):\n"
        "    c = (low + corner).long(); i = (c[..., 0] * self.resolution + c[..., 1]) * self.resolution + c[..., 2]\n"
        "    total = total + self.values[i] * torch.where(corner == 1, part, 1 - part).prod(-1, keepdim=True)\n"
        "return total",
    ),
)
