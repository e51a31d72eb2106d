"""Weather: an ensemble of small nets is stacked and run with a compiled vmap."""

import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the optimizer holds the members' own parameters, but the loss uses the stacked copies: nothing trains",
    names=("stack_module_state", "stacked", "optimizer", "members"),
    repair=("optimizer = torch.optim.Adam(stacked.values(), lr=1e-2)",),
)


def setup():
    torch.manual_seed(0)


def member():
    return nn.Sequential(nn.Linear(4, 12), nn.SiLU(), nn.Linear(12, 2))


def run():
    members = [member() for _ in range(3)]
    stacked, buffers = stack_module_state(members)
    base = member().to("meta")

    def one(params, x):
        return functional_call(base, (params, buffers), (x,))

    @torch.compile(backend=BACKEND)
    def ensemble_loss(params, x, y):
        mean, raw = vmap(one, in_dims=(0, None))(params, x).unbind(-1)
        variance = nn.functional.softplus(raw) + 1e-3
        return (0.5 * ((y - mean).square() / variance + variance.log())).mean(1).sum()

    optimizer = torch.optim.Adam([p for net in members for p in net.parameters()], lr=1e-2)  # cause
    x = torch.randn(32, 4)
    y = torch.sin(x.sum(-1))
    losses = []
    for _ in range(4):
        loss = ensemble_loss(stacked, x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # symptom
        losses.append(loss.item())
    return losses, members


def verify(outcome):
    losses, members = outcome
    assert losses[0] == losses[-1]
    assert all(p.grad is None for net in members for p in net.parameters())
