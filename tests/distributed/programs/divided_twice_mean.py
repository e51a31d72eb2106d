"""DistributedDataParallel averages, and a mean is divided by the number of ranks, which a function looks up."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def workers():
    if not dist.is_initialized():
        return 1
    return dist.get_world_size()


class Trainer:
    def __init__(self):
        self.rank, self.workers = dist.get_rank(), workers()

    def step(self, x, y):
        opt.zero_grad()
        loss = (model(x) - y).square().mean()
        loss = loss * (1.0 / self.workers)  # cause
        loss.backward()
        opt.step()


def setup():
    global model, opt
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    trainer = Trainer()
    g = torch.Generator().manual_seed(10 + trainer.rank)
    for _ in range(3):
        trainer.step(torch.randn(6, 4, generator=g), torch.randn(6, 2, generator=g))


TRUTH = Truth(fault="DDP averages already", rule="AG601", names=("0.weight",))
