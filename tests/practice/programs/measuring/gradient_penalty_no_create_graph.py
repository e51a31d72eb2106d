"""Flatness penalty: the squared gradient norm is computed without create_graph and is a constant to backward."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Classifier(nn.Module):
    def __init__(self, dim=6, classes=3):
        super().__init__()
        self.fc1 = nn.Linear(dim, 20)
        self.fc2 = nn.Linear(20, classes)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))


def gradient_energy(loss, params):
    """Sum of squared gradients: small in flat regions."""
    grads = torch.autograd.grad(loss, params, retain_graph=True)  # cause
    return sum(g.pow(2).sum() for g in grads)


class FlatTrainer:
    def __init__(self, model, weight, lr=0.1):
        self.model, self.weight = model, weight
        self.params = list(model.parameters())
        self.optimizer = torch.optim.SGD(self.params, lr=lr)
        self.log = []

    def step(self, x, y):
        loss = F.cross_entropy(self.model(x), y)
        energy = gradient_energy(loss, self.params)
        total = loss + self.weight * energy
        self.optimizer.zero_grad()
        total.backward()
        self.optimizer.step()
        self.log.append((loss.item(), float(energy)))


def data(steps):
    g = torch.Generator().manual_seed(4)
    for _ in range(steps):
        x = torch.randn(24, 6, generator=g)
        yield x, (x[:, 0] > 0).long() + (x[:, 1] > 0).long()


def train(weight):
    torch.manual_seed(0)
    trainer = FlatTrainer(Classifier(), weight)
    for x, y in data(3):
        trainer.step(x, y)
    return torch.cat([p.detach().flatten() for p in trainer.params])


def run():
    return train(0.0), train(50.0)


def verify(outcome):
    without, strong = outcome
    assert torch.equal(without, strong)


TRUTH = Truth(
    fault="autograd.grad without create_graph: the penalty has no graph and no effect on the update",
    names=("create_graph",),
    repair=("grads = torch.autograd.grad(loss, params, create_graph=True)",),
)
