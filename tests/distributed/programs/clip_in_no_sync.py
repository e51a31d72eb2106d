"""Each micro-batch is clipped before the ranks reduced it."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def run():
    torch.manual_seed(0)
    rank = dist.get_rank()
    model = DDP(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(rank)
    for _ in range(3):
        opt.zero_grad()
        with model.no_sync():
            (model(torch.randn(4, 4)).pow(2).mean() / 2).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.01)  # cause
        (model(torch.randn(4, 4)).pow(2).mean() / 2).backward()
        opt.step()


TRUTH = Truth(fault="clipping before reduction", names=("0.weight", "micro-batches"), rule="AG601")
