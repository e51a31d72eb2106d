"""MAML with torch.func inside a compiled meta-loss: the query set is tried with the weights before the adaptation."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

net = None


def task_loss(params, x, y):
    return F.mse_loss(functional_call(net, params, (x,)), y)


def adapt(params, x, y, lr):
    grads = grad(task_loss)(params, x, y)
    return {name: p - lr[name].exp() * grads[name] for name, p in params.items()}


@torch.compile(backend=BACKEND)
def meta_loss(params, lr, support, query):
    fast = params
    for _ in range(2):
        adapt(fast, *support, lr)  # cause
    return task_loss(fast, *query)


def sine_task():
    amplitude, phase = torch.rand(()) * 4 + 1, torch.rand(()) * 3
    x = torch.rand(2, 10, 1) * 10 - 5
    y = amplitude * torch.sin(x + phase)
    return (x[0], y[0]), (x[1], y[1])


def run():
    global net
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 1))
    params = dict(net.named_parameters())
    rates = {name: torch.full((), -4.0, requires_grad=True) for name in params}  # learned, one for each tensor
    optimizer = torch.optim.Adam([*params.values(), *rates.values()], lr=1e-3)
    for _ in range(3):
        loss = sum(meta_loss(params, rates, *sine_task()) for _ in range(2)) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return rates, params


def verify(outcome):
    rates, params = outcome
    assert all(r.grad is None or r.grad == 0 for r in rates.values())
    assert all(p.grad.abs().max() > 0 for p in params.values())


TRUTH = Truth(
    fault="the adapted weights are thrown away: nothing is meta-learned, the learned rates get no gradient",
    names=("fast", "rates"),
    repair=("fast = adapt(fast, *support, lr)",),
)
