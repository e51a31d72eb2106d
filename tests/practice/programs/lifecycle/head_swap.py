"""Task switch: the head is replaced in the run, its old parameters leave the optimizer with their state."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self, dim=5, width=12, classes=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(dim, width), nn.ReLU())
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.body(x))


def swap_head(model, optimizer, classes):
    old = list(model.head.parameters())
    width = model.head.in_features
    model.head = nn.Linear(width, classes)
    with torch.no_grad():
        model.head.weight.mul_(0.1)
        model.head.bias.zero_()
    for group in optimizer.param_groups:
        group["params"] = [p for p in group["params"] if not any(p is q for q in old)]
    for p in old:
        optimizer.state.pop(p, None)
    optimizer.param_groups[-1]["params"].extend(model.head.parameters())
    return old


def fit(model, optimizer, classes, steps):
    for _ in range(steps):
        x = torch.randn(16, 5)
        loss = F.cross_entropy(model(x), x[:, :classes].argmax(1))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def run():
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.Adam(
        [{"params": list(model.body.parameters()), "lr": 1e-3}, {"params": list(model.head.parameters()), "lr": 1e-2}]
    )
    fit(model, optimizer, classes=3, steps=2)
    body = [p.detach().clone() for p in model.body.parameters()]
    old = swap_head(model, optimizer, classes=4)
    frozen_copy = [p.detach().clone() for p in old]
    fresh = [p.detach().clone() for p in model.head.parameters()]
    fit(model, optimizer, classes=4, steps=2)
    return {
        "body": [not torch.equal(a, b) for a, b in zip(body, model.body.parameters())],
        "head": [not torch.equal(a, b) for a, b in zip(fresh, model.head.parameters())],
        "old": [torch.equal(a, b) for a, b in zip(frozen_copy, old)],
        "steps": sorted(int(s["step"]) for s in optimizer.state.values()),
    }


def verify(outcome):
    assert all(outcome["body"]) and all(outcome["head"]) and all(outcome["old"])
    assert outcome["steps"] == [2, 2, 4, 4]


TRUTH = Truth()
