"""Custom Function: the saved input is kept on the class, the second call of a forward pass overwrites the first's."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import Function

from tests.practice.truth import Truth


class Mish(Function):
    """x * tanh(softplus(x)), recomputed in backward."""

    saved = None

    @staticmethod
    def forward(ctx, x):
        Mish.saved = x.detach()  # cause
        return x * F.softplus(x).tanh()

    @staticmethod
    def backward(ctx, grad):
        x = Mish.saved  # cause
        t = F.softplus(x).tanh()
        return grad * (t + x * x.sigmoid() * (1 - t * t))


class MishLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.linear = nn.Linear(dim, dim)

    def forward(self, x):
        return Mish.apply(self.linear(x))


class Net(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.lower = MishLayer(dim)
        self.upper = MishLayer(dim)
        self.out = nn.Linear(dim, 2)

    def forward(self, x):
        return self.out(self.upper(self.lower(x)))


def reference(model, x):
    """The same, by the built-in activation."""
    h = F.mish(model.lower.linear(x))
    return model.out(F.mish(model.upper.linear(h)))


def run():
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    errors = []
    for _ in range(3):
        x = torch.randn(12, 6)
        y = (x[:, 0] > x[:, 1]).long()
        weights = model.lower.linear.weight, model.upper.linear.weight
        true = torch.autograd.grad(F.cross_entropy(reference(model, x), y), weights)
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        errors.append([((w.grad - t).norm() / t.norm()).item() for w, t in zip(weights, true)])
        optimizer.step()
    return errors


def verify(outcome):
    for lower, upper in outcome:
        assert lower > 0.05 and upper < 1e-4


TRUTH = Truth(
    fault="the input is stored on the class instead of ctx; the lower layer's backward uses the upper layer's input",
    names=("Mish",),
    repair=("ctx.save_for_backward(x)", "(x,) = ctx.saved_tensors"),
)
