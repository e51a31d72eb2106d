"""Each rank holds another part of a gradient, and the parts are summed."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import fully_shard

from tests.distributed.truth import Truth


def small():
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


def batches(count=4, size=6):
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    return [(torch.randn(size, 4, generator=g), torch.randint(0, 2, (size,), generator=g)) for _ in range(count)]


def setup():
    global model, opt
    torch.manual_seed(0)
    model = small()
    for part in (model[0], model[2], model):
        fully_shard(part)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for x, y in batches():
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        for p in model.parameters():
            g = p.grad.to_local()
            dist.all_reduce(g)  # cause
        opt.step()


TRUTH = Truth(fault="different shards are summed", rule="AG601", names=("0.weight",))
