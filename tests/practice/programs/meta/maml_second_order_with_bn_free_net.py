"""MAML, exact second order: fast weights are graph tensors, create_graph inside, one outer backward over several tasks."""

import torch
from torch import nn
from torch.func import functional_call
from tests.practice.truth import Truth

INNER_LR = 0.1


class Sine(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 1))

    def forward(self, x):
        return self.net(x)


def mse(model, weights, x, y):
    return (functional_call(model, weights, (x,)) - y).pow(2).mean()


def adapt(model, weights, x, y, steps, first_order=False):
    for _ in range(steps):
        grads = torch.autograd.grad(mse(model, weights, x, y), list(weights.values()), create_graph=not first_order)
        weights = {k: w - INNER_LR * g for (k, w), g in zip(weights.items(), grads)}
    return weights


def sample_task():
    amp, phase = torch.rand(2, dtype=torch.double) * 3
    x = torch.rand(20, 1, dtype=torch.double) * 6 - 3
    y = amp * torch.sin(x + phase)
    return x[:10], y[:10], x[10:], y[10:]


def run():
    torch.manual_seed(0)
    model = Sine().double()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    log = []
    for it in range(3):
        tasks = [sample_task() for _ in range(2)]
        before = {k: p.detach().clone() for k, p in model.named_parameters()}
        opt.zero_grad()
        outer = 0
        for xs, ys, xq, yq in tasks:
            fast = adapt(model, dict(model.named_parameters()), xs, ys, steps=2)
            outer = outer + mse(model, fast, xq, yq)
        outer.backward()
        log.append((before, tasks, {k: p.grad.clone() for k, p in model.named_parameters()}))
        opt.step()
    xs, ys, xq, yq = sample_task()  # meta test: first order, thrown away afterwards
    fast = adapt(
        model, {k: p.detach().requires_grad_() for k, p in model.named_parameters()}, xs, ys, 3, first_order=True
    )
    with torch.no_grad():
        score = mse(model, fast, xq, yq).item()
    return model, log, score


def verify(outcome):
    model, log, score = outcome
    for before, tasks, grads in log:  # central differences of the whole inner loop

        def value(weights):
            total = 0.0
            for xs, ys, xq, yq in tasks:
                w = {k: v.clone().requires_grad_() for k, v in weights.items()}
                w = adapt(model, w, xs, ys, 2, first_order=True)
                total += mse(model, w, xq, yq).item()
            return total

        direction = {k: torch.randn_like(v) for k, v in before.items()}
        up = value({k: v + 1e-6 * direction[k] for k, v in before.items()})
        down = value({k: v - 1e-6 * direction[k] for k, v in before.items()})
        slope = sum((grads[k] * direction[k]).sum() for k in grads).item()
        assert abs((up - down) / 2e-6 - slope) < 1e-4 * max(1, abs(slope))
    assert all(not torch.equal(p, log[0][0][k]) for k, p in model.named_parameters())


TRUTH = Truth()
