"""An ensemble is evaluated under vmap, in training mode, with dropout."""

import copy

import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

from tests.practice.truth import Truth


def make():
    return nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 1))


def run():
    torch.manual_seed(0)
    models = [make() for _ in range(3)]
    params, buffers = stack_module_state(models)
    base = copy.deepcopy(models[0]).to("meta")
    opt = torch.optim.Adam(params.values(), 1e-3)

    def call(p, b, x):
        return functional_call(base, (p, b), (x,))

    for _ in range(2):
        x, y = torch.randn(8, 4), torch.randn(8, 1)
        out = vmap(call, in_dims=(0, 0, None))(params, buffers, x)  # cause
        loss = (out - y).pow(2).mean((1, 2)).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return params


TRUTH = Truth(
    fault="vmap is not told how members draw their dropout",
    raises="vmap: called random operation while in randomness error mode",
    names=("randomness",),
    repair=("out = vmap(call, in_dims=(0, 0, None), randomness='different')(params, buffers, x)",),
)
