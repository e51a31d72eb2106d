"""Each rank sums copies of activations to log them, and in place only what no backward needs."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, head, opt, g
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(6, 8), nn.Tanh()))
    head = DDP(nn.Linear(8, 3))
    opt = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)
    g = torch.Generator().manual_seed(70 + dist.get_rank())


def run():
    for _ in range(3):
        x, y = torch.randn(8, 6, generator=g), torch.randint(0, 3, (8,), generator=g)
        h = model(x)
        seen = h.detach().clone()
        dist.all_reduce(seen)
        logits = head(h)
        loss = F.cross_entropy(logits, y)
        opt.zero_grad()
        loss.backward()
        with torch.no_grad():
            dist.all_reduce(h)
            dist.all_reduce(loss)
        opt.step()


TRUTH = Truth()
