"""Gradients of each sample by vmap(grad()) in compiled code, for their norms, beside the training."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global model, norms, optimizer
    torch.manual_seed(0)
    model = nn.Linear(4, 1)

    def loss_of(parameters, x):
        return torch.func.functional_call(model, parameters, (x,)).pow(2).sum()

    @torch.compile(backend=BACKEND)
    def norms(parameters, x):
        each = torch.func.vmap(torch.func.grad(loss_of), in_dims=(None, 0))(parameters, x)
        return each["weight"].flatten(1).norm(dim=1)

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for _ in range(2):
        x = torch.randn(5, 4)
        norms({name: p.detach() for name, p in model.named_parameters()}, x)
        optimizer.zero_grad()
        model(x).pow(2).mean().backward()
        optimizer.step()
