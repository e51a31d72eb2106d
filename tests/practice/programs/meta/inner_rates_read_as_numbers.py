"""Meta-SGD: the inner rates are Parameters, and the inner step reads them with `item()`."""

import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F

from tests.practice.truth import Truth


class MetaLearner(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 20), nn.ReLU(), nn.Linear(20, 1))
        self.rates = nn.ParameterDict(
            {name.replace(".", "_"): nn.Parameter(torch.tensor(0.05)) for name, _ in self.net.named_parameters()}
        )

    def adapt(self, x, y, steps=2):
        weights = dict(self.net.named_parameters())
        for _ in range(steps):
            loss = F.mse_loss(functional_call(self.net, weights, x), y)
            grads = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
            weights = {
                name: weight - self.rates[name.replace(".", "_")].item() * grad  # cause
                for (name, weight), grad in zip(weights.items(), grads)
            }
        return weights


def sine_task():
    amplitude, phase = torch.rand(1) * 4 + 1, torch.rand(1) * 3
    x = torch.rand(20, 1) * 10 - 5
    return x, amplitude * torch.sin(x + phase)


def run():
    torch.manual_seed(0)
    learner = MetaLearner()
    outer = torch.optim.Adam(learner.parameters(), lr=1e-3)
    for _ in range(3):
        outer.zero_grad()
        total = 0.0
        for _ in range(3):
            x, y = sine_task()
            weights = learner.adapt(x[:10], y[:10])
            total = total + F.mse_loss(functional_call(learner.net, weights, x[10:]), y[10:])
        (total / 3).backward()
        outer.step()
    return [rate.item() for rate in learner.rates.values()]


def verify(out):
    assert all(abs(rate - 0.05) < 1e-9 for rate in out)


TRUTH = Truth(
    fault="item() gives a number: the rates are never learned",
    names=("rates", "item"),
    repair=("name: weight - self.rates[name.replace('.', '_')] * grad",),
)
