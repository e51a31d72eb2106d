"""A hook that reduces the last bucket only."""

import copy

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def net():
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


def batches(count=4, size=6):
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    return [(torch.randn(size, 4, generator=g), torch.randint(0, 2, (size,), generator=g)) for _ in range(count)]


def hook(state, bucket):
    if bucket.is_last():
        work = dist.all_reduce(bucket.buffer().div_(dist.get_world_size()), async_op=True)  # also
        return work.get_future().then(lambda f: f.value()[0])
    future = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future


def setup():
    global model, opt
    torch.manual_seed(0)
    model = DDP(
        nn.Sequential(nn.Linear(4, 600), nn.Tanh(), nn.Linear(600, 600), nn.Tanh(), nn.Linear(600, 2)), bucket_cap_mb=1
    )
    model.register_comm_hook(None, hook)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for x, y in batches():
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()  # cause


TRUTH = Truth(fault="other buckets stay local", rule="AG601", names=("2.weight",), where="any", values=True)
