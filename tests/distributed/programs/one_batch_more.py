"""One rank has one batch more than the other, and waits for it in vain."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global model, opt, batches
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    g = torch.Generator().manual_seed(dist.get_rank())
    batches = [torch.randn(2, 4, generator=g) for _ in range(2 + dist.get_rank())]


def run():
    for x in batches:  # also
        opt.zero_grad()
        model(x).square().mean().backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)  # cause
            p.grad /= 2
        opt.step()  # also


TRUTH = Truth(fault="uneven work", rule="AG603", where="gather", raises="imed out|timeout caused")
