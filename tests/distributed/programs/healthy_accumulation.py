"""no_sync around all but the last micro-batch."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth

from contextlib import nullcontext


def setup():
    global model, opt
    torch.manual_seed(0)
    model = DDP(nn.Linear(4, 2), gradient_as_bucket_view=True)
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def run():
    torch.manual_seed(dist.get_rank())
    for _ in range(2):
        for k in range(3):
            with model.no_sync() if k < 2 else nullcontext():
                (model(torch.randn(3, 4)).square().mean() / 3).backward()
        opt.step()
        opt.zero_grad()


TRUTH = Truth()
