"""Echo-state-like network: the recurrent matrix is rescaled through .data after the forward and before the backward, which then uses other weights."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Reservoir(nn.Module):
    def __init__(self, inputs=2, units=12):
        super().__init__()
        self.w_in = nn.Parameter(torch.randn(units, inputs))
        self.w = nn.Parameter(1.5 * torch.randn(units, units) / units**0.5)
        self.readout = nn.Linear(units, 1)

    def forward(self, x):
        h = x.new_zeros(x.size(0), self.w.size(0))
        for t in range(x.size(1)):
            h = torch.tanh(x[:, t] @ self.w_in.t() + h @ self.w.t())
        return self.readout(h).squeeze(-1)

    def limit_spectral_norm(self, limit=0.9):
        norm = torch.linalg.matrix_norm(self.w.data, 2)
        self.w.data.mul_(limit / torch.clamp(norm, min=limit))


def narma(n, length=8):
    x = 0.5 * torch.rand(n, length, 2)
    return x, 3 * x[:, -1, 0] * x[:, -4, 1] + x.mean((1, 2))


def train(model, data, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    x, y = data
    errors = []
    for _ in range(steps):
        loss = (model(x) - y).square().mean()
        wanted = torch.autograd.grad(loss, model.w_in, retain_graph=True)[0]
        model.limit_spectral_norm()  # cause
        optimizer.zero_grad()
        loss.backward()
        errors.append((model.w_in.grad - wanted).abs().max().item())
        optimizer.step()
    return errors


def run():
    torch.manual_seed(0)
    return train(Reservoir(), narma(32), 3)


def verify(outcome):
    assert outcome[0] > 1e-5


TRUTH = Truth(
    fault="the weight is changed between forward and backward behind autograd's back (.data has no version): wrong gradients",
    names=("w",),
    repair=("pass",),
)
