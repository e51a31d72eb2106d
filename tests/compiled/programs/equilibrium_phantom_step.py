"""A compiled equilibrium model: solved without a graph, one step with it, the spectral bound made anew: healthy."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Equilibrium(nn.Module):
    def __init__(self, width=10):
        super().__init__()
        self.weight, self.inject = nn.Parameter(torch.randn(width, width)), nn.Linear(width, width)
        self.register_buffer("direction", F.normalize(torch.randn(width), dim=0))

    def bounded(self):
        with torch.no_grad():
            for _ in range(3):
                u = F.normalize(self.weight @ self.direction, dim=0)
                self.direction.copy_(F.normalize(self.weight.t() @ u, dim=0))
        sigma = u @ self.weight @ self.direction.clone()
        return 0.8 * self.weight / sigma

    def forward(self, x):
        w, b = self.bounded(), self.inject(x)
        with torch.no_grad():
            z = torch.zeros_like(b)
            for _ in range(30):
                z = torch.tanh(F.linear(z, w) + b)
        return torch.tanh(F.linear(z, w) + b), z


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.core, self.head = Equilibrium(), nn.Linear(10, 3)

    def forward(self, x):
        z, solved = self.core(x)
        return self.head(z), (z.detach() - solved).norm()


def run():
    torch.manual_seed(0)
    model = Model()
    forward = torch.compile(model, backend=BACKEND)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    residuals, losses, y = [], [], torch.arange(24) % 3
    x = torch.randn(24, 10) + F.one_hot(y, 10)
    for _ in range(8):
        logits, residual = forward(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        residuals.append(residual.item())
        losses.append(loss.item())
    return residuals, losses, {name: p.grad.abs().max().item() for name, p in model.named_parameters()}


def verify(outcome):
    residuals, losses, grads = outcome
    assert all(r < 1e-2 for r in residuals) and losses[-1] < 0.9 * losses[0] and all(g > 0 for g in grads.values())


TRUTH = Truth()
