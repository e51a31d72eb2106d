"""MAML on sines: every rank adapts to tasks of its own, the gradients of the initialisation are averaged."""

import math

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

from tests.distributed.truth import Truth

INNER_LR, INNER_STEPS, TASKS, SHOTS = 0.05, 2, 3, 6


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 12), nn.Tanh(), nn.Linear(12, 1))

    def forward(self, x):
        return self.net(x)


def task(g):
    amplitude, phase = 0.5 + 2 * torch.rand(1, generator=g), math.pi * torch.rand(1, generator=g)

    def sample():
        x = 10 * torch.rand(SHOTS, 1, generator=g) - 5
        return x, amplitude * torch.sin(x + phase)

    return sample(), sample()


def adapt(model, params, support):
    x, y = support
    for _ in range(INNER_STEPS):
        loss = F.mse_loss(functional_call(model, params, (x,)), y)
        grads = torch.autograd.grad(loss, tuple(params.values()), create_graph=True)
        params = {name: p - INNER_LR * d for (name, p), d in zip(params.items(), grads)}
    return params


def outer_gradients(model, g):
    params = dict(model.named_parameters())
    total = 0
    for _ in range(TASKS):
        support, (x, y) = task(g)
        adapted = adapt(model, params, support)
        total = total + F.mse_loss(functional_call(model, adapted, (x,)), y)
    return torch.autograd.grad(total / TASKS, tuple(params.values()))


def assign_averages(model, grads):
    world = dist.get_world_size()
    works = []
    for p, grad in zip(model.parameters(), grads):
        p.grad = grad.contiguous() / world
        works.append(dist.all_reduce(p.grad, async_op=True))
    for work in works:
        work.wait()


def setup():
    global model, opt, g
    torch.manual_seed(0)
    model = Regressor()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    g = torch.Generator().manual_seed(80 + dist.get_rank())


def run():
    for _ in range(4):
        assign_averages(model, outer_gradients(model, g))
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        opt.step()
    return [round(p.norm().item(), 6) for p in model.parameters()]


TRUTH = Truth(values=True)
