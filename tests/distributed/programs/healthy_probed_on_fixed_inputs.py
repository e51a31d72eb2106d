"""Training on data of each rank; one probe that is the same everywhere is drawn behind a common seed, and learnt from once."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, opt, g
    torch.manual_seed(0)
    model = DDP(nn.Linear(6, 3))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    g = torch.Generator().manual_seed(70 + dist.get_rank())


def learn(x, y):
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()


def run():
    for _ in range(3):
        learn(torch.randn(8, 6, generator=g), torch.randint(0, 3, (8,), generator=g))
    torch.manual_seed(9)
    learn(torch.randn(8, 6), torch.randint(0, 3, (8,)))
    for _ in range(3):
        learn(torch.randn(8, 6, generator=g), torch.randint(0, 3, (8,), generator=g))


TRUTH = Truth(values=True)
