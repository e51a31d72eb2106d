"""stack_module_state() copies the members' parameters, and the optimizer has the members'."""

import copy

import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

from tests.compiled.backend import BACKEND

RULES = "AG405"
NAMES = ("members.0", "params")


def setup():
    global members, optimizer
    torch.manual_seed(0)
    members = nn.ModuleList(nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)) for _ in range(3))
    optimizer = torch.optim.Adam(members.parameters())


def run():
    base = copy.deepcopy(members[0]).to("meta")
    params, buffers = stack_module_state(members)

    @torch.compile(backend=BACKEND)
    def loss_of(x, y):
        def one(p, b):
            return functional_call(base, (p, b), (x,))

        return (vmap(one)(params, buffers) - y).pow(2).mean()

    for _ in range(2):
        x = torch.randn(6, 3)
        optimizer.zero_grad()
        loss_of(x, x.prod(1, keepdim=True)).backward()
        optimizer.step()
