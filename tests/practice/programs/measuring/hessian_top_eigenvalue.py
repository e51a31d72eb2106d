"""Sharpness every step: power iteration on Hessian-vector products over one kept graph, between backward and step."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(4, 8)
        self.l2 = nn.Linear(8, 2)

    def forward(self, x):
        return self.l2(torch.tanh(self.l1(x)))


def dot(a, b):
    return sum((x * y).sum() for x, y in zip(a, b))


class TopEigenvalue:
    def __init__(self, params, iterations=40):
        self.params = list(params)
        self.iterations = iterations
        self.vector = None

    def __call__(self, loss):
        grads = torch.autograd.grad(loss, self.params, create_graph=True)
        if self.vector is None:
            self.vector = [torch.randn_like(p) for p in self.params]
        value = None
        for i in range(self.iterations):
            norm = dot(self.vector, self.vector).sqrt()
            for v in self.vector:
                v.div_(norm)
            product = torch.autograd.grad(dot(grads, self.vector), self.params, retain_graph=True)
            value = dot(product, self.vector).item()
            self.vector = [h.detach() for h in product]
        return value


def dense_top(loss_fn, params):
    """All eigenvalues, by rows: affordable at this size."""
    grads = torch.autograd.grad(loss_fn(), params, create_graph=True)
    flat = torch.cat([g.flatten() for g in grads])
    rows = []
    for i in range(len(flat)):
        row = torch.autograd.grad(flat[i], params, retain_graph=True)
        rows.append(torch.cat([r.flatten() for r in row]))
    hessian = torch.stack(rows)
    return torch.linalg.eigvalsh((hessian + hessian.T) / 2).abs().max().item()


def run():
    torch.manual_seed(0)
    model = Net()
    params = list(model.parameters())
    optimizer = torch.optim.SGD(params, lr=0.1, momentum=0.9)
    sharpness = TopEigenvalue(params)
    pairs, changed = [], []
    for _ in range(3):
        x = torch.randn(24, 4)
        y = (x[:, 0] > 0).long()
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        before = [p.grad.clone() for p in params]
        pairs.append((abs(sharpness(loss)), dense_top(lambda: F.cross_entropy(model(x), y), params)))
        changed.append(any(not torch.equal(a, p.grad) for a, p in zip(before, params)))
        optimizer.step()
    return pairs, changed


def verify(outcome):
    pairs, changed = outcome
    assert all(abs(a - b) < 0.05 * b for a, b in pairs)
    assert not any(changed)


TRUTH = Truth()
