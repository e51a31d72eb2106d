"""SGLD with noise added to the weights in place, a cyclic rate, and SWAG moments from which weights are drawn and put back: healthy."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class SGLD(torch.optim.Optimizer):
    def __init__(self, params, lr, temperature=1.0, prior_precision=1.0):
        super().__init__(params, dict(lr=lr, temperature=temperature, prior_precision=prior_precision))

    @torch.no_grad()
    def step(self, noise=True):
        for group in self.param_groups:
            for p in group["params"]:
                d = p.grad.add(p, alpha=group["prior_precision"])
                p.add_(d, alpha=-0.5 * group["lr"])
                if noise:
                    p.add_(torch.randn_like(p), alpha=math.sqrt(group["lr"] * group["temperature"]))


class SWAG:
    def __init__(self, model):
        self.model, self.n = model, 0
        self.mean = [torch.zeros_like(p) for p in model.parameters()]
        self.square = [torch.zeros_like(p) for p in model.parameters()]

    @torch.no_grad()
    def collect(self):
        for p, m, s in zip(self.model.parameters(), self.mean, self.square):
            m.mul_(self.n / (self.n + 1)).add_(p, alpha=1 / (self.n + 1))
            s.mul_(self.n / (self.n + 1)).addcmul_(p, p, value=1 / (self.n + 1))
        self.n += 1

    @torch.no_grad()
    def predict(self, x, draws=4):
        backup = [p.clone() for p in self.model.parameters()]
        outputs = []
        for _ in range(draws):
            for p, m, s in zip(self.model.parameters(), self.mean, self.square):
                std = (s - m.square()).clamp(min=1e-12).sqrt()
                p.copy_(m + std * torch.randn_like(p))
            outputs.append(self.model(x).softmax(-1))
        for p, b in zip(self.model.parameters(), backup):
            p.copy_(b)
        return torch.stack(outputs).mean(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(6, 16), nn.Linear(16, 3)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))


def cyclic(step, cycle=4, high=1e-3):
    return 0.5 * high * (math.cos(math.pi * (step % cycle) / cycle) + 1)


def run():
    torch.manual_seed(0)
    model, n_train = Net(), 200
    sampler, swag = SGLD(model.parameters(), lr=1e-3), SWAG(model)
    start = [p.detach().clone() for p in model.parameters()]
    kept = []
    for step in range(8):
        for group in sampler.param_groups:
            group["lr"] = cyclic(step)
        x = torch.randn(20, 6)
        y = x[:, :3].argmax(1)
        sampler.zero_grad()
        (F.cross_entropy(model(x), y) * n_train).backward()
        sampler.step(noise=step % 4 >= 2)
        if step % 4 == 3:
            swag.collect()
            before = [p.detach().clone() for p in model.parameters()]
            probabilities = swag.predict(x)
            kept.append(all(torch.equal(b, p) for b, p in zip(before, model.parameters())))
    return start, list(model.parameters()), kept, probabilities


def verify(outcome):
    start, end, kept, probabilities = outcome
    assert all(kept) and torch.allclose(probabilities.sum(-1), torch.ones(20))
    assert all(not torch.equal(a, b) for a, b in zip(start, end))


TRUTH = Truth()
