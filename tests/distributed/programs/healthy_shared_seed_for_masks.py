"""All ranks set one seed before each step, and draw the same masks; each has data of its own."""

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


def run():
    for step in range(5):
        torch.manual_seed(1000 + step)
        mask = (torch.rand(6) > 0.2).float()
        x, y = torch.randn(8, 6, generator=g), torch.randint(0, 3, (8,), generator=g)
        opt.zero_grad()
        F.cross_entropy(model(x * mask), y).backward()
        opt.step()


TRUTH = Truth(values=True)
