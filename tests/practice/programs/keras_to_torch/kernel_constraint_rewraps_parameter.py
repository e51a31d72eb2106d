"""Keras to PyTorch: kernel_constraint=NonNeg() became a new nn.Parameter after each step; the optimizer keeps the first one."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class NonNeg:
    def __call__(self, kernel):
        return kernel.clamp(min=0.0)


class Dense(nn.Module):
    def __init__(self, inputs, units, kernel_constraint=None):
        super().__init__()
        self.kernel = nn.Parameter(torch.rand(inputs, units) * 0.3)
        self.bias = nn.Parameter(torch.zeros(units))
        self.kernel_constraint = kernel_constraint

    def forward(self, x):
        return x @ self.kernel + self.bias

    def apply_constraint(self):
        if self.kernel_constraint is not None:
            self.kernel = nn.Parameter(self.kernel_constraint(self.kernel.detach()))  # cause


class MonotoneModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Dense(5, 8, kernel_constraint=NonNeg())
        self.last = Dense(8, 1, kernel_constraint=NonNeg())

    def forward(self, x):
        return self.last(torch.tanh(self.first(x))).squeeze(-1)

    def constrain(self):
        for layer in (self.first, self.last):
            layer.apply_constraint()


def run():
    torch.manual_seed(0)
    model = MonotoneModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    kernels = []
    for _ in range(4):
        x = torch.rand(16, 5)
        optimizer.zero_grad()
        F.mse_loss(model(x), x.sum(dim=1)).backward()
        optimizer.step()
        model.constrain()
        kernels.append(model.first.kernel.detach().clone())
    return kernels


def verify(kernels):
    assert torch.equal(kernels[0], kernels[-1])


TRUTH = Truth(
    fault="after the first step the kernels are new Parameters that the optimizer does not hold",
    names=("kernel",),
    repair=("self.kernel.data.copy_(self.kernel_constraint(self.kernel.detach()))",),
)
