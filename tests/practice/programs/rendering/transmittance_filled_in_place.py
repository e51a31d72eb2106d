"""Volume rendering: the transmittance along a ray is filled in a loop, and each product saved what is written next."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Field(nn.Module):
    def __init__(self, frequencies=3):
        super().__init__()
        self.register_buffer("bands", 2.0 ** torch.arange(frequencies))
        self.net = nn.Sequential(nn.Linear(3 + 6 * frequencies, 32), nn.ReLU(), nn.Linear(32, 4))

    def forward(self, x):
        phase = (x.unsqueeze(-1) * self.bands).flatten(-2)
        out = self.net(torch.cat([x, phase.sin(), phase.cos()], -1))
        return torch.sigmoid(out[..., :3]), nn.functional.softplus(out[..., 3])


def weights_of(density, delta):
    alpha = 1 - torch.exp(-density * delta)
    transmittance = torch.ones_like(alpha)
    for i in range(1, alpha.shape[1]):
        transmittance[:, i] = transmittance[:, i - 1] * (1 - alpha[:, i - 1])  # cause
    return alpha * transmittance


def render(field, origins, directions, samples=6, near=0.5, far=2.5):
    edges = torch.linspace(near, far, samples + 1)
    depth = edges[:-1] + (edges[1:] - edges[:-1]) * torch.rand(len(origins), samples)
    points = origins.unsqueeze(1) + depth.unsqueeze(-1) * directions.unsqueeze(1)
    colour, density = field(points)
    weights = weights_of(density, (far - near) / samples)
    return (weights.unsqueeze(-1) * colour).sum(1), weights.sum(1)


def run(steps=2):
    torch.manual_seed(0)
    field = Field()
    optimizer = torch.optim.Adam(field.parameters(), lr=5e-4)
    for _ in range(steps):
        directions = nn.functional.normalize(torch.randn(8, 3), dim=-1)
        colour, opacity = render(field, torch.zeros(8, 3), directions)
        loss = (colour - torch.rand(8, 3)).pow(2).mean() + 0.01 * (opacity - 1).abs().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # symptom
        optimizer.step()


TRUTH = Truth(
    fault="each element is computed from a view of the tensor that the next one is written to",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("transmittance",),
    repair=(
        "transmittance = torch.cat([transmittance[:, :i], transmittance[:, i - 1 : i] * (1 - alpha[:, i - 1 : i]),"
        " transmittance[:, i + 1 :]], 1)",
    ),
)
