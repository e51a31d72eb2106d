"""Point clouds: the learnt temperature is created inside forward, a new one for each call, and is never trained."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class SoftAssign(nn.Module):
    """Soft k-means over the points of a cloud, with a temperature for each centre."""

    def __init__(self, dim, centres):
        super().__init__()
        self.centres = nn.Parameter(torch.randn(centres, dim))
        self.temperature = None

    def forward(self, points):
        self.temperature = nn.Parameter(torch.ones(self.centres.size(0), device=points.device))  # cause
        distance = (points[:, :, None] - self.centres).square().sum(-1)
        weight = (-distance * self.temperature).softmax(-1)
        return torch.einsum("bnk,bnd->bkd", weight, points) / points.size(1)


class CloudClassifier(nn.Module):
    def __init__(self, dim=8, centres=4, classes=3):
        super().__init__()
        self.lift = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, dim))
        self.pool = SoftAssign(dim, centres)
        self.out = nn.Linear(dim * centres, classes)

    def forward(self, xyz):
        return self.out(self.pool(self.lift(xyz)).flatten(1))


def shapes(n):
    y = torch.arange(n) % 3
    scale = torch.tensor([[1.0, 1.0, 1.0], [2.0, 1.0, 0.1], [2.0, 0.1, 0.1]])[y]
    return torch.randn(n, 20, 3) * scale[:, None], y


def run():
    torch.manual_seed(0)
    model = CloudClassifier()
    xyz, y = shapes(24)
    model(xyz[:1])  # builds what depends on the input's device
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    gradients = []
    for _ in range(4):
        loss = F.cross_entropy(model(xyz), y)
        optimizer.zero_grad()
        loss.backward()
        gradients.append(model.pool.temperature.grad.abs().max().item())
        optimizer.step()
    return gradients, model.pool.temperature.detach()


def verify(outcome):
    gradients, temperature = outcome
    assert min(gradients) > 0
    assert torch.equal(temperature, torch.ones_like(temperature))


TRUTH = Truth(
    fault="every forward puts a fresh Parameter of ones in place of the one the optimizer has",
    names=("temperature",),
    repair=(
        "if self.temperature is None:\n    self.temperature = nn.Parameter(torch.ones(self.centres.size(0), device=points.device))",
    ),
)
