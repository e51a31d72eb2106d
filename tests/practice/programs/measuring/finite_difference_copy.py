"""Gradient check by hand: reshape() of a transposed weight is a copy, the nudges never reach the layer."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class TiedProjection(nn.Module):
    """Keeps its weight the way the exported format wants it: input-major."""

    def __init__(self, fin, fout):
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(fout, fin)).t())
        self.bias = nn.Parameter(torch.zeros(fout))

    def forward(self, x):
        return x @ self.weight + self.bias


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = TiedProjection(4, 7)
        self.outer = TiedProjection(7, 2)

    def forward(self, x):
        return self.outer(torch.sigmoid(self.inner(x)))


class GradientChecker:
    def __init__(self, model, eps=1e-4, samples=4):
        self.model, self.eps, self.samples = model, eps, samples

    @torch.no_grad()
    def numerical(self, param, loss_fn):
        values = param.reshape(-1)  # cause
        out = []
        for i in range(self.samples):
            old = values[i].item()
            values[i] = old + self.eps
            plus = loss_fn()
            values[i] = old - self.eps
            minus = loss_fn()
            values[i] = old
            out.append((plus - minus) / (2 * self.eps))
        return torch.stack(out)


def run():
    torch.manual_seed(0)
    model = Net().double()
    checker = GradientChecker(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    results = []
    for _ in range(2):
        x, y = torch.randn(10, 4).double(), torch.randint(0, 2, (10,))

        def loss_fn():
            return F.cross_entropy(model(x), y)

        optimizer.zero_grad()
        loss_fn().backward()
        weight = model.inner.weight
        results.append((checker.numerical(weight, loss_fn), weight.grad.t().reshape(-1)[:4].clone()))
        optimizer.step()
    return results


def verify(outcome):
    for numerical, analytic in outcome:
        assert numerical.abs().max() == 0 and analytic.abs().max() > 1e-4


TRUTH = Truth(
    fault="param.reshape(-1) copies (the weight is not contiguous), the perturbation does not reach the parameter",
    names=("reshape",),
    repair=("values = param.detach().t().view(-1) if not param.is_contiguous() else param.view(-1)",),
)
