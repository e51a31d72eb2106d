"""Loss per token over all ranks; ranks hold very different numbers of tokens."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Embedding(9, 6), nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 9))


def shard(step, rank):
    g = torch.Generator().manual_seed(100 * rank + step)
    t = torch.randint(0, 9, (3, 6), generator=g)
    mask = torch.rand(3, 5, generator=g) < (0.2 if rank else 0.9)
    return t[:, :-1], t[:, 1:], mask.float()


def nll(logits, y, mask):
    return (nn.functional.cross_entropy(logits.transpose(1, 2), y, reduction="none") * mask).sum()


def setup():
    global net, ddp, opt
    net = build()
    ddp = DDP(net, gradient_as_bucket_view=True)
    opt = torch.optim.SGD(net.parameters(), lr=0.3)


def run():
    for step in range(3):
        x, y, mask = shard(step, dist.get_rank())
        weight = mask.sum()
        dist.all_reduce(weight)
        share = weight / dist.get_world_size()
        loss = nll(ddp(x), y, mask) / share
        opt.zero_grad()
        loss.backward()
        opt.step()


TRUTH = Truth()
