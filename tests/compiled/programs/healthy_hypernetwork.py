"""A hypernetwork whose weights reach a compiled functional call, and an attack by autograd.grad beside it."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global hyper, body, optimizer, predict
    torch.manual_seed(0)
    hyper, body = nn.Linear(3, 30), nn.Linear(4, 6)
    head = nn.Linear(6, 1)
    body.requires_grad_(False)
    optimizer = torch.optim.Adam([*hyper.parameters(), *head.parameters()], lr=1e-2)

    @torch.compile(backend=BACKEND)
    def predict(x, task):
        made = hyper(task)
        weights = {"weight": made[:24].view(6, 4), "bias": made[24:]}
        return head(torch.relu(functional_call(body, weights, (x,))))


def run():
    for _ in range(3):
        task, x = torch.randn(3), torch.randn(5, 4)
        moved = x.clone().requires_grad_()
        (slope,) = torch.autograd.grad(predict(moved, task).pow(2).sum(), moved)
        moved = (moved + 0.05 * slope.sign()).detach()
        loss = F.mse_loss(predict(moved, task), torch.zeros(5, 1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
