"""Continual learning: a compiled elastic penalty holds a classifier near the weights of the first task."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the anchor aliases the live parameters, so the penalty and its gradient are always zero",
    names=("anchor", "detach", "clone"),
    repair=("anchor = {name: p.detach().clone() for name, p in model.named_parameters()}",),
)


def setup():
    torch.manual_seed(0)


@torch.compile(backend=BACKEND)
def penalty(params, anchor, fisher):
    return sum((fisher[name] * (p - anchor[name]).square()).sum() for name, p in params.items())


def train(model, x, y, steps, anchor=None, fisher=None):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    seen = []
    for _ in range(steps):
        loss = nn.functional.cross_entropy(model(x), y)
        if anchor is not None:
            elastic = penalty(dict(model.named_parameters()), anchor, fisher)
            seen.append(elastic.item())  # symptom
            loss = loss + 5.0 * elastic
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return seen


def run():
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
    first, second = torch.randn(32, 6), torch.randn(32, 6) + 1.0
    train(model, first, torch.randint(3, (32,)), 5)
    nn.functional.cross_entropy(model(first), torch.randint(3, (32,))).backward()
    fisher = {name: p.grad.square() + 0.01 for name, p in model.named_parameters()}
    anchor = {name: p.detach() for name, p in model.named_parameters()}  # cause
    return train(model, second, torch.randint(3, (32,)), 5, anchor, fisher)


def verify(outcome):
    assert len(outcome) == 5 and all(value == 0.0 for value in outcome)
