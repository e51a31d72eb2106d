"""A learned radial basis in double precision: `nn.Parameter(...).double()` is no parameter and is registered nowhere."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class RadialBasis(nn.Module):
    def __init__(self, n=6, cutoff=5.0):
        super().__init__()
        self.cutoff = cutoff
        self.register_buffer("centres", torch.linspace(0, cutoff, n))
        # learned width of each Gaussian (PhysNet)
        self.widths = nn.Parameter(torch.full((n,), 2.0)).double()  # cause

    def forward(self, d):
        envelope = 0.5 * (torch.cos(torch.pi * d / self.cutoff) + 1) * (d < self.cutoff)
        return envelope[..., None] * torch.exp(-self.widths * (d[..., None] - self.centres) ** 2)


class PairPotential(nn.Module):
    def __init__(self, species=4, n=6, dim=8):
        super().__init__()
        self.rbf = RadialBasis(n)
        self.species = nn.Embedding(species, dim)
        self.net = nn.Sequential(nn.Linear(n + dim, dim), nn.SiLU(), nn.Linear(dim, 1))

    def forward(self, z, pos):
        i, j = torch.triu_indices(len(z), len(z), offset=1)
        d = (pos[i] - pos[j]).norm(dim=-1)
        pair = self.species(z[i]) * self.species(z[j])
        return self.net(torch.cat([self.rbf(d), pair], dim=-1)).sum()


def train(model, frames, epochs=3):
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)  # symptom
    for epoch in range(epochs):
        total = 0.0
        for z, pos, energy in frames:
            opt.zero_grad()
            loss = F.mse_loss(model(z, pos), energy)
            loss.backward()
            opt.step()
            total += loss.item()
        print(f"epoch {epoch} mse {total / len(frames):.4f}")


def run():
    torch.manual_seed(0)
    model = PairPotential().double()
    print(f"{sum(p.numel() for p in model.parameters())} parameters")
    frames = []
    for _ in range(5):
        pos = 2 * torch.randn(5, 3, dtype=torch.float64)
        frames.append((torch.randint(0, 4, (5,)), pos, torch.exp(-torch.pdist(pos)).sum()))
    train(model, frames)
    return model


def verify(out):
    assert "rbf.widths" not in dict(out.named_parameters())
    assert torch.equal(out.rbf.widths.detach(), torch.full((6,), 2.0, dtype=torch.float64))


TRUTH = Truth(
    fault="the copy that a cast makes of a parameter is no parameter: it is never trained",
    names=("widths",),
    repair=("self.widths = nn.Parameter(torch.full((n,), 2.0, dtype=torch.float64))",),
)
