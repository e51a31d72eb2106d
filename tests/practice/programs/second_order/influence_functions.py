"""Influence of training points: a trained head is only read, inverse products come from LiSSA, no gradient is stored."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def grad_of(head, feats, y, create_graph=False):
    loss = F.cross_entropy(head(feats), y) + 0.01 * sum(p.pow(2).sum() for p in head.parameters())
    return torch.autograd.grad(loss, list(head.parameters()), create_graph=create_graph)


def hvp(head, feats, y, v):
    grads = grad_of(head, feats, y, create_graph=True)
    return torch.autograd.grad(sum((g * u).sum() for g, u in zip(grads, v)), list(head.parameters()))


def lissa(head, v, feats, y, depth=6, damp=0.01, scale=5.0):
    estimate = [u.clone() for u in v]
    for _ in range(depth):
        idx = torch.randint(len(y), (8,))
        hv = hvp(head, feats[idx], y[idx], estimate)
        with torch.no_grad():
            estimate = [u + (1 - damp) * e - h / scale for u, e, h in zip(v, estimate, hv)]
    return [e / scale for e in estimate]


def run():
    torch.manual_seed(0)
    body, head = nn.Sequential(nn.Linear(5, 8), nn.ReLU()), nn.Linear(8, 2)
    x = torch.randn(24, 5)
    y = (x[:, 0] > 0).long()
    y[:4] = 1 - y[:4]
    optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=2e-2)
    for _ in range(5):
        loss = F.cross_entropy(head(body(x)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    body.eval().requires_grad_(False)
    feats = body(x)
    test_v = grad_of(head, body(torch.randn(6, 5)), torch.randint(2, (6,)))
    inverse = lissa(head, test_v, feats, y)
    influences = []
    for i in range(len(y)):
        g = grad_of(head, feats[i : i + 1], y[i : i + 1])
        influences.append(-sum((a * b).sum() for a, b in zip(g, inverse)).item() / len(y))
    order = sorted(range(len(y)), key=influences.__getitem__)
    return body, head, influences, order


TRUTH = Truth()


def verify(out):
    body, head, influences, order = out
    assert all(p.grad is None for m in (body, head) for p in m.parameters())
    assert all(abs(i) < 10 for i in influences) and len(set(influences)) > 12 and len(order) == 24
