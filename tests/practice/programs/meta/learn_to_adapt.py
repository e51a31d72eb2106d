"""Meta: MAML with fast weights in a dict, a detached copy for the log and gradients cleared late; all as it should be."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

from tests.practice.truth import Truth


class SineNet(nn.Module):
    def __init__(self, width=20):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)
        )

    def forward(self, x):
        return self.net(x)


class Meta(nn.Module):
    """The initialisation and one step size per tensor, kept as its logarithm."""

    def __init__(self, inner_lr=0.05):
        super().__init__()
        self.model = SineNet()
        names = [n.replace(".", "_") for n, _ in self.model.named_parameters()]
        self.log_lr = nn.ParameterDict({n: nn.Parameter(torch.tensor(math.log(inner_lr))) for n in names})

    def adapt(self, x, y, steps=2):
        fast = dict(self.model.named_parameters())
        for _ in range(steps):
            loss = F.mse_loss(functional_call(self.model, fast, (x,)), y)
            grads = torch.autograd.grad(loss, list(fast.values()), create_graph=True)
            fast = {n: w - self.log_lr[n.replace(".", "_")].exp() * g for (n, w), g in zip(fast.items(), grads)}
        return fast


def sine_task(shots=10):
    amplitude, phase = torch.rand(1) * 4 + 1, torch.rand(1) * math.pi
    x = torch.rand(2 * shots, 1) * 10 - 5
    y = amplitude * torch.sin(x - phase)
    return x[:shots], y[:shots], x[shots:], y[shots:]


def evaluate(meta, task):
    xs, ys, xq, yq = task
    with torch.enable_grad():
        fast = {n: w.detach() for n, w in meta.adapt(xs, ys).items()}
    with torch.no_grad():
        return F.mse_loss(functional_call(meta.model, fast, (xq,)), yq).item()


def run():
    torch.manual_seed(0)
    meta = Meta()
    optimizer = torch.optim.Adam(meta.parameters(), lr=1e-3)
    before = {n: p.detach().clone() for n, p in meta.named_parameters()}
    log = []
    for _ in range(3):
        for _ in range(4):
            xs, ys, xq, yq = sine_task()
            fast = meta.adapt(xs, ys)
            loss = F.mse_loss(functional_call(meta.model, fast, (xq,)), yq) / 4
            loss.backward()
        nn.utils.clip_grad_norm_(meta.parameters(), 10.0)
        optimizer.step()
        optimizer.zero_grad()
        log.append(evaluate(meta, sine_task()))
        assert all(p.grad is None for p in meta.parameters())
    return before, {n: p.detach() for n, p in meta.named_parameters()}, log


def verify(outcome):
    before, after, log = outcome
    assert all(math.isfinite(v) for v in log)
    assert all(not torch.equal(before[n], after[n]) for n in before)


TRUTH = Truth()
