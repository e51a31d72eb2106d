"""no_sync() of a FullyShardedDataParallel around all but the last micro-batch."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

from tests.distributed.truth import Truth


def small():
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


def batches(count=4, size=6):
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    return [(torch.randn(size, 4, generator=g), torch.randint(0, 2, (size,), generator=g)) for _ in range(count)]


def setup():
    global model, opt
    torch.manual_seed(0)
    model = FSDP(small(), use_orig_params=True, device_id=torch.device("cpu"))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    opt.zero_grad()
    for i, (x, y) in enumerate(batches()):
        if i % 2 == 0:
            with model.no_sync():
                (F.cross_entropy(model(x), y) / 2).backward()
        else:
            (F.cross_entropy(model(x), y) / 2).backward()
            model.clip_grad_norm_(1.0)
            opt.step()
            opt.zero_grad()


TRUTH = Truth()
