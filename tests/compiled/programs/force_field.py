"""Chemistry: a potential is trained on energies and forces; its layers are compiled, the forces come from autograd."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the forces are taken without create_graph, so the force loss has no path to the parameters",
    names=("create_graph", "grad", "force"),
    repair=("(slope,) = torch.autograd.grad(energy.sum(), position, create_graph=True)",),
)


class Potential(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 16)
        self.second = nn.Linear(16, 1)

    def forward(self, position):
        pair = position[:, :, None] - position[:, None]
        distance = (pair.square().sum(-1) + 0.1).sqrt()
        shells = torch.stack([distance, 1 / distance, torch.exp(-distance)], -1)
        return self.second(torch.tanh(self.first(shells))).sum((1, 2, 3))


@torch.compile(backend=BACKEND)
def objective(energy, force, energy_target, force_target):
    energy_loss = nn.functional.mse_loss(energy, energy_target)
    force_loss = nn.functional.mse_loss(force, force_target)
    return energy_loss, force_loss


def setup():
    torch.manual_seed(0)


def run():
    model = Potential()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    position = torch.randn(4, 5, 3, requires_grad=True)
    energy_target, force_target = torch.randn(4), torch.randn(4, 5, 3)
    attached = []
    for _ in range(3):
        energy = model(position)
        (slope,) = torch.autograd.grad(energy.sum(), position, retain_graph=True)  # cause
        energy_loss, force_loss = objective(energy, -slope, energy_target, force_target)
        attached.append(force_loss.requires_grad)
        loss = energy_loss + 10.0 * force_loss
        optimizer.zero_grad()
        loss.backward()  # symptom
        optimizer.step()
    return attached


def verify(outcome):
    assert outcome == [False, False, False]
