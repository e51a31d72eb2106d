"""An ensemble by stack_module_state: the optimizer has the parameters of the models that were stacked."""

import copy

import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    models = [nn.Linear(4, 1) for _ in range(3)]
    params, buffers = stack_module_state(models)
    opt = torch.optim.Adam([p for m in models for p in m.parameters()], lr=0.1)  # cause
    base = copy.deepcopy(models[0]).to("meta")
    before = params["weight"].detach().clone()
    for _ in range(3):
        x = torch.randn(8, 4)
        out = vmap(lambda p, b, x: functional_call(base, (p, b), (x,)), in_dims=(0, 0, None))(params, buffers, x)
        loss = (out - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return (params["weight"] - before).abs().max().item()


def verify(out):
    assert out == 0.0


TRUTH = Truth(
    fault="the stacked parameters are in no optimizer",
    repair=("opt = torch.optim.Adam(params.values(), lr=0.1)",),
)
