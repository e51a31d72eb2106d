"""Materials: NaN labels masked by multiplication; NaN * 0 is NaN and the first step destroys the network."""

import torch
from torch import nn

from tests.practice.truth import Truth

PROPERTIES = ("band_gap", "bulk_modulus", "formation_energy")


class CrystalNet(nn.Module):
    """Sum over the atoms of a crystal, then one head for all properties."""

    def __init__(self, elements=8, dim=12):
        super().__init__()
        self.atom = nn.Embedding(elements, dim)
        self.update = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.head = nn.Linear(dim, len(PROPERTIES))

    def forward(self, atoms):
        h = self.atom(atoms)
        h = h + self.update(h)
        return self.head(h.mean(1))


def masked_mse(predicted, target):
    known = ~torch.isnan(target)
    error = (predicted - target).square() * known  # cause
    return error.sum() / known.sum()


def dataset(n):
    atoms = torch.randint(8, (n, 5))
    y = torch.stack([atoms.float().mean(1), atoms.float().std(1), atoms[:, 0].float()], 1)
    y[torch.rand(n, 3) < 0.3] = float("nan")
    return atoms, y


class Meter:
    def __init__(self):
        self.values = []

    def update(self, value):
        if value == value:  # a batch without labels has no loss
            self.values.append(value)

    def mean(self):
        return sum(self.values) / max(1, len(self.values))


def run():
    torch.manual_seed(0)
    model = CrystalNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    atoms, y = dataset(32)
    meter = Meter()
    for start in range(0, 32, 8):
        loss = masked_mse(model(atoms[start : start + 8]), y[start : start + 8])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter.update(loss.item())
    return meter.mean(), [torch.isfinite(p).all().item() for p in model.parameters()]


def verify(outcome):
    _, finite = outcome
    assert not all(finite)


TRUTH = Truth(
    values=True,
    fault="NaN times False is NaN: loss and gradients are NaN from the first batch with a missing label",
    names=("known",),
    repair=("error = (predicted - target.nan_to_num()).square() * known",),
)
