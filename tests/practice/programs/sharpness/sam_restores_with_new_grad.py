"""SAM: the perturbation is taken back with the second gradient in place of the remembered first, so the weights drift."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class SoilNet(nn.Module):
    def __init__(self, wavelengths=14, classes=4):
        super().__init__()
        self.fc1 = nn.Linear(wavelengths, 16)
        self.fc2 = nn.Linear(16, classes)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


class SAM:
    def __init__(self, params, base, rho=0.5):
        self.params = list(params)
        self.base = base
        self.rho = rho

    def _direction(self):
        norm = torch.stack([p.grad.norm() for p in self.params]).norm()
        return [self.rho * p.grad / (norm + 1e-12) for p in self.params]

    @torch.no_grad()
    def ascend(self):
        self.moved = self._direction()
        for p, e in zip(self.params, self.moved):
            p.add_(e)
        self.base.zero_grad()

    @torch.no_grad()
    def descend(self):
        for p, e in zip(self.params, self._direction()):  # cause
            p.sub_(e)
        self.base.step()
        self.base.zero_grad()


def run():
    torch.manual_seed(0)
    model = SoilNet()
    learning_rate = 1e-3
    sam = SAM(model.parameters(), torch.optim.SGD(model.parameters(), lr=learning_rate))
    x = torch.randn(32, 14)
    y = x[:, :4].argmax(1)
    excess = []
    for _ in range(4):
        before = [p.detach().clone() for p in model.parameters()]
        F.cross_entropy(model(x), y).backward()
        sam.ascend()
        F.cross_entropy(model(x), y).backward()
        allowed = [learning_rate * p.grad.abs().max() for p in model.parameters()]
        sam.descend()
        moved = [(p.detach() - b).abs().max() for p, b in zip(model.parameters(), before)]
        excess.append(max(m / a for m, a in zip(moved, allowed)).item())
    return excess


def verify(outcome):
    assert min(outcome) > 2


TRUTH = Truth(
    fault="p.grad is that of the perturbed point by then: what is subtracted is not what was added",
    names=("sub_", "grad"),
    repair=("for p, e in zip(self.params, self.moved):",),
)
