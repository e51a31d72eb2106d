"""Adaptation of all tasks at once: the model has dropout, which vmap refuses unless told what randomness to use."""

import torch
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional as F

from tests.practice.truth import Truth


class Regressor(nn.Module):
    def __init__(self, p=0.1):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 20), nn.ReLU(), nn.Dropout(p), nn.Linear(20, 1))

    def forward(self, x):
        return self.net(x)


def sine_tasks(n_tasks, k):
    amp = 0.1 + 4.9 * torch.rand(n_tasks, 1, 1)
    phase = 3.14 * torch.rand(n_tasks, 1, 1)
    x = torch.rand(n_tasks, 2 * k, 1) * 10 - 5
    y = amp * torch.sin(x + phase)
    return x[:, :k], y[:, :k], x[:, k:], y[:, k:]


def run(alpha=0.1, n_tasks=4, k=5):
    torch.manual_seed(0)
    model = Regressor()
    params = {n: p.detach().clone().requires_grad_() for n, p in model.named_parameters()}
    opt = torch.optim.Adam(params.values(), lr=1e-3)

    def loss_fn(p, x, y):
        return F.mse_loss(functional_call(model, p, (x,)), y)

    def task_loss(p, xs, ys, xq, yq):
        g = grad(loss_fn)(p, xs, ys)
        adapted = {n: p[n] - alpha * g[n] for n in p}
        return loss_fn(adapted, xq, yq)

    batched = vmap(task_loss, in_dims=(None, 0, 0, 0, 0))  # cause
    for it in range(3):
        losses = batched(params, *sine_tasks(n_tasks, k))  # symptom
        opt.zero_grad()
        losses.mean().backward()
        opt.step()
        print(f"it {it} loss {losses.mean().item():.4f} worst {losses.max().item():.4f}")


TRUTH = Truth(
    fault="random operation under vmap without randomness=",
    raises="vmap: called random operation while in randomness error mode",
    names=("randomness",),
    repair=('batched = vmap(task_loss, in_dims=(None, 0, 0, 0, 0), randomness="different")',),
)
