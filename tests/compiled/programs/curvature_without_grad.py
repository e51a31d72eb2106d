"""The curvature penalty of a compiled loss is computed by torch.func under no_grad: it is a number to autograd."""

import torch
from torch import nn
from torch.func import hessian, vmap

from tests.compiled.backend import BACKEND

RULES = "AG102"
NAMES = ("field",)


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def laplacian(field, x):
    with torch.no_grad():  # cause
        return vmap(lambda each: hessian(field)(each).diagonal().sum())(x)


def setup():
    global field, offset, optimizer, loss_of
    torch.manual_seed(0)
    field, offset = Field(), nn.Parameter(torch.zeros(()))
    optimizer = torch.optim.Adam([*field.parameters(), offset])

    @torch.compile(backend=BACKEND)
    def loss_of(x):
        return (laplacian(field, x) - offset - x.prod(1)).pow(2).mean()


def run():
    for _ in range(2):
        optimizer.zero_grad()
        loss_of(torch.randn(4, 2)).backward()
        optimizer.step()
