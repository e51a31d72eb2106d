"""Chemistry: a potential is trained on energies and forces, but the forces are made without create_graph."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

ATOMS, SPECIES = 5, 3


class RadialBasis(nn.Module):
    def __init__(self, size=8, cutoff=4.0):
        super().__init__()
        self.register_buffer("centres", torch.linspace(0.5, cutoff, size))
        self.width = nn.Parameter(torch.tensor(1.5))

    def forward(self, d):
        return torch.exp(-self.width * (d.unsqueeze(-1) - self.centres) ** 2)


class Potential(nn.Module):
    """Pair energies from species embeddings and distances."""

    def __init__(self, dim=8):
        super().__init__()
        self.species = nn.Embedding(SPECIES, dim)
        self.basis = RadialBasis()
        self.pair = nn.Sequential(nn.Linear(2 * dim + 8, 24), nn.SiLU(), nn.Linear(24, 1))
        self.offset = nn.Embedding(SPECIES, 1)

    def energy(self, z, pos):
        i, j = torch.triu_indices(ATOMS, ATOMS, offset=1)
        d = (pos[:, i] - pos[:, j]).norm(dim=-1)
        h = self.species(z)
        features = torch.cat([h[:, i] + h[:, j], h[:, i] * h[:, j], self.basis(d)], dim=-1)
        return self.pair(features).sum((1, 2)) + self.offset(z).sum((1, 2))

    def forward(self, z, pos):
        with torch.enable_grad():
            pos = pos.detach().requires_grad_(True)
            energy = self.energy(z, pos)
            forces = -torch.autograd.grad(energy.sum(), pos, retain_graph=True)[0]  # cause
        return energy, forces


def molecules(n=6):
    z = torch.randint(0, SPECIES, (n, ATOMS))
    pos = torch.randn(n, ATOMS, 3) * 1.5
    return z, pos, torch.randn(n), torch.randn(n, ATOMS, 3)


def objective(out, energy, forces, weight):
    e, f = out
    return F.mse_loss(e, energy), weight * F.mse_loss(f, forces)


def run():
    torch.manual_seed(0)
    model = Potential()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    shares = []
    for _ in range(3):
        z, pos, energy, forces = molecules()
        loss_e, loss_f = objective(model(z, pos), energy, forces, weight=100.0)
        w = model.pair[0].weight
        (energy_only,) = torch.autograd.grad(loss_e, w, retain_graph=True)
        optimizer.zero_grad()
        (loss_e + loss_f).backward()
        shares.append(torch.allclose(w.grad, energy_only))
        optimizer.step()
    return shares, loss_f.item()


def verify(outcome):
    shares, loss_f = outcome
    assert loss_f > 0
    assert all(shares)  # the forces add nothing to the gradient


TRUTH = Truth(
    fault="the forces carry no graph: their loss does not train anything",
    names=("forces", "create_graph"),
    repair=("forces = -torch.autograd.grad(energy.sum(), pos, create_graph=True)[0]",),
)
