"""DP-SGD by torch.func: no backward() anywhere, gradients per sample by vmap, clipped, noised, written to p.grad."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad_and_value, vmap

from tests.practice.truth import Truth


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(2, 6, 3, padding=1)
        self.norm = nn.GroupNorm(2, 6)
        self.fc = nn.Linear(6, 3)

    def forward(self, x):
        return self.fc(F.relu(self.norm(self.conv(x))).mean(-1))


class DPStep:
    def __init__(self, model, clip, noise):
        self.model, self.clip, self.noise = model, clip, noise
        self.generator = torch.Generator().manual_seed(1)
        self.norms = []

    def loss(self, params, x, y):
        return F.cross_entropy(functional_call(self.model, params, (x[None],)), y[None])

    def __call__(self, x, y):
        params = {n: p.detach() for n, p in self.model.named_parameters()}
        grads, losses = vmap(grad_and_value(self.loss), in_dims=(None, 0, 0), randomness="different")(params, x, y)
        norms = torch.stack([g.flatten(1).norm(dim=1) for g in grads.values()]).norm(dim=0)
        factor = (self.clip / norms.clamp_min(1e-6)).clamp_max(1.0)
        for name, p in self.model.named_parameters():
            summed = torch.einsum("b,b...->...", factor, grads[name])
            summed += self.noise * self.clip * torch.randn(p.shape, generator=self.generator)
            p.grad = summed / len(x)
        self.norms.append((norms * factor).max().item())
        return losses.mean().item()


def run():
    torch.manual_seed(0)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    start = [p.detach().clone() for p in model.parameters()]
    step = DPStep(model, clip=0.1, noise=0.0)
    exact = DPStep(model, clip=1e9, noise=0.0)
    x, y = torch.randn(10, 2, 8), torch.randint(0, 3, (10,))
    exact(x, y)
    true = torch.autograd.grad(F.cross_entropy(model(x), y), list(model.parameters()))
    gap = max((p.grad - t).abs().max().item() for p, t in zip(model.parameters(), true))
    for i in range(3):
        step.noise = 0.5 if i else 0.0
        x, y = torch.randn(10, 2, 8), torch.randint(0, 3, (10,))
        step(x, y)
        optimizer.step()
    return gap, step.norms, [not torch.equal(a, b) for a, b in zip(start, model.parameters())]


def verify(outcome):
    gap, norms, moved = outcome
    assert gap < 1e-5
    assert max(norms) < 0.1 + 1e-5
    assert all(moved)


TRUTH = Truth()
