"""Metric learning: a layer rescales its weight through .data in each forward, and the second branch spoils the first's gradient."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class BoundedLinear(nn.Linear):
    """Shrinks its weight a little whenever its gain is above one."""

    def __init__(self, inp, out, shrink=0.7):
        super().__init__(inp, out)
        self.shrink, self.used = shrink, []
        nn.init.normal_(self.weight)

    def forward(self, x):
        w = self.weight
        if self.training and torch.linalg.matrix_norm(w.detach(), ord=2) > 1:
            w.data.mul_(self.shrink)  # cause
        self.used.append(w.detach().clone())
        return F.linear(x, w, self.bias)


class Encoder(nn.Module):
    def __init__(self, inp=10, dim=8):
        super().__init__()
        self.inp = nn.Linear(inp, 16)
        self.mid = BoundedLinear(16, 16)
        self.out = nn.Linear(16, dim)

    def forward(self, x):
        return self.out(torch.tanh(self.mid(torch.tanh(self.inp(x)))))


class Siamese(nn.Module):
    def __init__(self, margin=1.0):
        super().__init__()
        self.encoder, self.margin = Encoder(), margin

    def forward(self, a, b, same):
        distance = (self.encoder(a) - self.encoder(b)).norm(dim=1)
        return torch.where(same, distance.pow(2), F.relu(self.margin - distance).pow(2)).mean()


def exact_gradient(model, a, b, same):
    """Each branch with the weight it really had."""
    e = model.encoder
    outs = []
    for x, w in zip((a, b), e.mid.used[-2:]):
        h = torch.tanh(F.linear(torch.tanh(e.inp(x)), w, e.mid.bias))
        outs.append(e.out(h))
    distance = (outs[0] - outs[1]).norm(dim=1)
    loss = torch.where(same, distance.pow(2), F.relu(model.margin - distance).pow(2)).mean()
    return torch.autograd.grad(loss, e.inp.weight)[0]


def run():
    torch.manual_seed(0)
    model = Siamese().train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    errors = []
    for _ in range(2):
        a, b, same = torch.randn(12, 10), torch.randn(12, 10), torch.rand(12) < 0.5
        loss = model(a, b, same)
        optimizer.zero_grad()
        loss.backward()
        exact = exact_gradient(model, a, b, same)
        errors.append(((model.encoder.inp.weight.grad - exact).norm() / exact.norm()).item())
        optimizer.step()
    return errors


def verify(outcome):
    assert all(error > 0.02 for error in outcome)


TRUTH = Truth(
    fault="the second branch changes mid.weight through .data after the first has saved it: its backward uses the wrong weight",
    names=("mid", "data"),
    repair=("w = w * self.shrink",),
)
