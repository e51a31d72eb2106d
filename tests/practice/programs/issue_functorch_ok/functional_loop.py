"""Healthy: a purely functional loop: detached parameters, torch.func.grad_and_value with has_aux, momentum by hand, written back at the end."""

import torch
import torch.nn as nn
from torch.func import functional_call, grad_and_value, vmap

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(3, 12)
        self.norm = nn.LayerNorm(12)
        self.dec = nn.Linear(12, 1)

    def forward(self, x):
        return self.dec(torch.tanh(self.norm(self.enc(x)))).squeeze(-1)


def make_train_step(model, lr, mu):
    def loss_fn(params, x, y):
        pred = functional_call(model, params, (x,))
        loss = (pred - y).abs().mean()
        return loss, pred.detach()

    per_task = vmap(grad_and_value(loss_fn, has_aux=True), in_dims=(None, 0, 0))

    def step(params, velocity, x, y):
        grads, (loss, _) = per_task(params, x, y)
        grads = {n: g.mean(0) for n, g in grads.items()}
        velocity = {n: mu * velocity[n] + grads[n] for n in grads}
        params = {n: params[n] - lr * velocity[n] for n in params}
        return params, velocity, loss.mean()

    return step


def tasks(n_tasks, n):
    x = torch.randn(n_tasks, n, 3)
    slope = torch.rand(n_tasks, 1) + 0.5
    return x, slope * x[..., 0] + 3


def run():
    torch.manual_seed(0)
    model = Net()
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    params = {n: p.detach() for n, p in model.named_parameters()}
    velocity = {n: torch.zeros_like(p) for n, p in params.items()}
    step = make_train_step(model, lr=0.05, mu=0.9)
    losses = []
    for _ in range(4):
        params, velocity, loss = step(params, velocity, *tasks(4, 8))
        losses.append(loss.item())
    model.load_state_dict(params)
    moved = {n: not torch.equal(p, before[n]) for n, p in model.named_parameters()}
    return losses, moved


def verify(outcome):
    losses, moved = outcome
    assert all(moved.values())
    assert losses[-1] < losses[0]


TRUTH = Truth()
