"""Meta-SGD: per-parameter inner rates learned through a differentiable inner loop by functional_call."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

from tests.practice.truth import Truth


class Sine(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.hidden = nn.Linear(1, width)
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        return self.out(torch.tanh(self.hidden(x)))


class MetaSGD(nn.Module):
    def __init__(self, model, lr=0.1):
        super().__init__()
        self.model = model
        self.log_rates = nn.ParameterDict(
            {n.replace(".", "_"): nn.Parameter(torch.full_like(p, lr).log()) for n, p in model.named_parameters()}
        )

    def adapt(self, x, y, steps, first_order=False):
        fast = dict(self.model.named_parameters())
        for _ in range(steps):
            loss = F.mse_loss(functional_call(self.model, fast, (x,)), y)
            grads = torch.autograd.grad(loss, fast.values(), create_graph=not first_order)
            fast = {n: p - self.log_rates[n.replace(".", "_")].exp() * g for (n, p), g in zip(fast.items(), grads)}
        return fast


def task():
    phase = torch.rand(()) * 3
    x = torch.rand(20, 1) * 6 - 3
    y = torch.sin(x + phase)
    return x[:10], y[:10], x[10:], y[10:]


def run():
    torch.manual_seed(0)
    learner = MetaSGD(Sine())
    optimizer = torch.optim.Adam(learner.parameters(), lr=1e-2)
    start = {n: p.detach().clone() for n, p in learner.named_parameters()}
    untouched = []
    for step in range(3):
        optimizer.zero_grad()
        for _ in range(2):
            sx, sy, qx, qy = task()
            version = [p._version for p in learner.model.parameters()]
            fast = learner.adapt(sx, sy, steps=2, first_order=step == 0)  # warm up first-order
            loss = F.mse_loss(functional_call(learner.model, fast, (qx,)), qy) / 2
            loss.backward()
            untouched.append(version == [p._version for p in learner.model.parameters()])
        optimizer.step()
    learner.eval()
    sx, sy, qx, qy = task()
    fast = {n: p.detach() for n, p in learner.adapt(sx, sy, 2, first_order=True).items()}
    with torch.no_grad():
        score = F.mse_loss(functional_call(learner.model, fast, (qx,)), qy)
    return untouched, {n: not torch.equal(p, start[n]) for n, p in learner.named_parameters()}, score.item()


def verify(outcome):
    untouched, moved, score = outcome
    assert all(untouched) and all(moved.values())
    assert score == score


TRUTH = Truth()
