"""EWC: the Fisher estimate leaves its last squared-term gradient behind and the first step of task two applies it."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class SplitNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU())
        self.classifier = nn.Linear(16, 4)

    def forward(self, x):
        return self.classifier(self.body(x))


class EWC:
    def __init__(self, model, strength=10.0):
        self.model, self.strength = model, strength
        self.fisher, self.anchor = {}, {}

    def estimate(self, xs, ys):
        self.model.eval()
        fisher = {n: torch.zeros_like(p) for n, p in self.model.named_parameters()}
        for x, y in zip(xs, ys):
            self.model.zero_grad()
            F.cross_entropy(self.model(x[None]), y[None]).backward()  # also
            for n, p in self.model.named_parameters():
                fisher[n] += p.grad.detach().pow(2) / len(xs)
        self.fisher = fisher  # cause
        self.anchor = {n: p.detach().clone() for n, p in self.model.named_parameters()}
        self.model.train()

    def penalty(self):
        total = sum((self.fisher[n] * (p - self.anchor[n]).pow(2)).sum() for n, p in self.model.named_parameters())
        return self.strength * total


def task(seed, n=16):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(n, 10, generator=g), torch.randint(0, 4, (n,), generator=g)


def fit(model, optimizer, x, y, ewc=None, steps=2):
    surplus = []
    for _ in range(steps):
        loss = F.cross_entropy(model(x), y)
        if ewc is not None:
            loss = loss + ewc.penalty()
        expected = torch.autograd.grad(loss, model.classifier.weight, retain_graph=True)[0]
        loss.backward()
        surplus.append((model.classifier.weight.grad - expected).norm().item())
        optimizer.step()
        optimizer.zero_grad()
    return surplus


def run():
    torch.manual_seed(0)
    model = SplitNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    first = task(1)
    fit(model, optimizer, *first)
    ewc = EWC(model)
    ewc.estimate(*first)
    return fit(model, optimizer, *task(2), ewc=ewc)


def verify(outcome):
    assert outcome[0] > 1e-2 and outcome[1] < 1e-5


TRUTH = Truth(
    fault="the gradient of the last Fisher sample is never cleared and adds to the first training step of task two",
    names=("zero_grad",),
    repair=("self.fisher = fisher\nself.model.zero_grad()",),
)
