"""Adam to LBFGS: the closure of the port evaluates the loss and calls backward, while zero_grad stayed outside, once per step."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Surrogate(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 10), nn.Tanh(), nn.Linear(10, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def target(x):
    return torch.sin(2 * x[:, 0]) * x[:, 1]


class Fitter:
    def __init__(self, model):
        self.model = model
        self.adam = torch.optim.Adam(model.parameters(), lr=1e-2)
        self.lbfgs = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=4)
        self.gaps = []

    def adam_phase(self, x, steps=2):
        for _ in range(steps):
            self.adam.zero_grad()
            F.mse_loss(self.model(x), target(x)).backward()
            self.adam.step()

    def lbfgs_phase(self, x, steps=2):
        weight = self.model.net[0].weight

        def closure():
            loss = F.mse_loss(self.model(x), target(x))
            (own,) = torch.autograd.grad(loss, weight, retain_graph=True)
            loss.backward()  # cause
            self.gaps.append(float((weight.grad - own).abs().max()))
            return loss

        for _ in range(steps):
            self.lbfgs.zero_grad()  # also
            self.lbfgs.step(closure)


def run():
    torch.manual_seed(0)
    fitter = Fitter(Surrogate())
    x = torch.rand(24, 2) * 2 - 1
    fitter.adam_phase(x)
    fitter.lbfgs_phase(x)
    return fitter.gaps


def verify(gaps):
    assert gaps[0] < 1e-7 and max(gaps) > 1e-3


TRUTH = Truth(
    fault="LBFGS calls the closure several times a step; gradients of earlier evaluations are not cleared in it",
    names=("closure",),
    repair=("self.lbfgs.zero_grad()\nloss.backward()",),
)
