"""Each rank takes the gradient at weights moved by noise of its own, and takes the noise away before the step."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, opt, g
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 2)))
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    g = torch.Generator().manual_seed(31 + dist.get_rank())


def run():
    for _ in range(4):
        x, y = torch.randn(6, 5, generator=g), torch.randint(0, 2, (6,), generator=g)
        kept = [p.detach().clone() for p in model.parameters()]
        with torch.no_grad():
            for p in model.parameters():
                p.add_(0.02 * torch.randn(p.shape, generator=g))
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        with torch.no_grad():
            for p, old in zip(model.parameters(), kept):
                p.copy_(old)
        opt.step()


TRUTH = Truth(values=True)
