"""State-space model: the state is detached at each step of the scan, "to save memory"; the transition learns nothing from the past."""

import torch
from torch import nn

from tests.practice.truth import Truth


class DiagonalSSM(nn.Module):
    """h' = a h + b x, y = c h, with 0 < a < 1."""

    def __init__(self, dim, state):
        super().__init__()
        self.log_decay = nn.Parameter(torch.linspace(-3, 0, state).repeat(dim, 1))
        self.b = nn.Parameter(torch.randn(dim, state) / state**0.5)
        self.c = nn.Parameter(torch.randn(dim, state) / state**0.5)

    def forward(self, x):
        a = torch.exp(-torch.exp(self.log_decay))
        h = x.new_zeros(x.size(0), *self.b.shape)
        out = []
        for t in range(x.size(1)):
            h = a * h.detach() + self.b * x[:, t, :, None]  # cause
            out.append((h * self.c).sum(-1))
        return torch.stack(out, 1)


class CopyTask(nn.Module):
    def __init__(self, dim=6, state=4):
        super().__init__()
        self.inp = nn.Linear(1, dim)
        self.ssm = DiagonalSSM(dim, state)
        self.out = nn.Linear(dim, 1)

    def forward(self, x):
        return self.out(torch.nn.functional.gelu(self.ssm(self.inp(x)))).squeeze(-1)


def delayed(n, length=12, delay=6):
    x = torch.randn(n, length, 1)
    return x, x[:, :-delay, 0], delay


def horizon(model, x):
    """Gradient of the last output with respect to each input."""
    x = x.clone().requires_grad_(True)
    model(x)[:, -1].sum().backward()
    model.zero_grad()
    return x.grad.abs().sum((0, 2))


def run():
    torch.manual_seed(0)
    model = CopyTask()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    x, target, delay = delayed(16)
    for _ in range(3):
        loss = (model(x)[:, delay:] - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return horizon(model, x)


def verify(outcome):
    assert outcome[-1] > 0
    assert outcome[:-1].abs().max() == 0


TRUTH = Truth(
    fault="h.detach() truncates the backward to one step: the input of six steps ago gets no gradient",
    names=("detach",),
    repair=("h = a * h + self.b * x[:, t, :, None]",),
)
