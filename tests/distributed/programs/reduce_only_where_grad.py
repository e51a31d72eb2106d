"""Ranks average the gradients that they have, and have others."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def run():
    torch.manual_seed(0)
    rank = dist.get_rank()
    model = nn.ModuleDict({"a": nn.Linear(4, 1), "b": nn.Linear(4, 1)})
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(rank)
    for step in range(2):
        opt.zero_grad()
        x = torch.randn(4, 4)
        loss = model["a"](x).pow(2).mean()
        if step == 1 and rank == 1:
            loss = model["b"](x).pow(2).mean()
        loss.backward()
        for p in model.parameters():
            if p.grad is not None:
                dist.all_reduce(p.grad)  # cause
                p.grad /= 2
        opt.step()


TRUTH = Truth(fault="crossed reductions", names=("b.weight",), rule="AG603|AG301", where="gather")
