"""Meta learning: each task adapts a sine regressor with one compiled inner step, then the outer step is taken."""

import torch

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the inner step writes into the meta parameters themselves, through .data, and nothing puts them back",
    names=("data", "sub_", "adapt"),
    repair=("fast.append(w - 0.1 * g)",),
)


def setup():
    torch.manual_seed(0)


def net(weights, x):
    a, b, c, d = weights
    return torch.tanh(x @ a + b) @ c + d


@torch.compile(backend=BACKEND)
def fit(weights, x, y):
    return (net(weights, x) - y).square().mean()


def inner(w, g):
    w.data.sub_(0.1 * g)  # also
    return w


def adapt(weights, x, y):
    grads = torch.autograd.grad(fit(weights, x, y), weights)
    fast = []
    for w, g in zip(weights, grads):
        fast.append(inner(w, g))  # cause
    return fast


def run():
    shapes = ((1, 16), (16,), (16, 1), (1,))
    weights = [(torch.randn(shape) * 0.3).requires_grad_() for shape in shapes]
    optimizer = torch.optim.SGD(weights, lr=0.01)
    moved = 0.0
    for _ in range(2):
        optimizer.zero_grad()
        before = [w.detach().clone() for w in weights]
        for _ in range(3):
            phase, x = torch.rand(1) * 3, torch.randn(10, 1)
            y = torch.sin(x + phase)
            fast = adapt(weights, x[:5], y[:5])
            fit(fast, x[5:], y[5:]).backward()
        moved += sum((w - b).abs().sum().item() for w, b in zip(weights, before))  # symptom
        optimizer.step()
    return moved


def verify(outcome):
    assert outcome > 0.01
