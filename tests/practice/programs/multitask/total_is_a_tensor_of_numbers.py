"""The losses of three tasks are put into `torch.tensor(..., requires_grad=True)` and summed: nothing learns."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    body = nn.Linear(6, 16)
    heads = nn.ModuleList(nn.Linear(16, 1) for _ in range(3))
    opt = torch.optim.Adam([*body.parameters(), *heads.parameters()], 1e-2)
    start = body.weight.detach().clone()
    for _ in range(2):
        x = torch.randn(8, 6)
        h = body(x).tanh()
        losses = [(head(h) - x[:, i : i + 1]).pow(2).mean() for i, head in enumerate(heads)]
        total = torch.tensor(losses, requires_grad=True).sum()  # cause
        opt.zero_grad()
        total.backward()
        opt.step()
    return torch.equal(body.weight, start)


def verify(same):
    assert same


TRUTH = Truth(
    fault="torch.tensor makes numbers of the losses",
    names=("torch.tensor",),
    repair=("total = torch.stack(losses).sum()",),
)
