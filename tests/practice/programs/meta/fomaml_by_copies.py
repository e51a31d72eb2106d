"""First-order MAML: a copy adapts by itself, and its gradients are put onto the first weights by hand."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def adapt(learner, x, y, steps=3, lr=0.05):
    optimizer = torch.optim.SGD(learner.parameters(), lr=lr)
    for _ in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(learner(x), y).backward()
        optimizer.step()
    return learner


def episode(ways=3, shots=4, queries=4):
    centres = torch.randn(ways, 6) * 2
    y = torch.arange(ways).repeat_interleave(shots + queries)
    x = centres[y] + 0.3 * torch.randn(len(y), 6)
    support = (torch.arange(len(y)) % (shots + queries)) < shots
    return x[support], y[support], x[~support], y[~support]


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
    meta_opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    first = copy.deepcopy(model.state_dict())
    accs = []
    for _ in range(3):
        meta_opt.zero_grad()
        for p in model.parameters():
            p.grad = torch.zeros_like(p)
        acc = 0.0
        for _ in range(2):
            xs, ys, xq, yq = episode()
            learner = adapt(copy.deepcopy(model), xs, ys)
            logits = learner(xq)
            learner.zero_grad()
            F.cross_entropy(logits, yq).backward()
            for p, q in zip(model.parameters(), learner.parameters()):
                p.grad.add_(q.grad / 2)
            acc += (logits.argmax(1) == yq).float().mean().item() / 2
        meta_opt.step()
        accs.append(acc)
    return first, model, accs


TRUTH = Truth()


def verify(out):
    first, model, accs = out
    assert all(not torch.equal(v, first[k]) for k, v in model.state_dict().items())
    assert accs[-1] > 0.3
