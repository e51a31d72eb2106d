"""fp16 compression of torch, and a hook of one's own that divides."""

from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def mine(state, bucket):
    world = dist.get_world_size()
    work = dist.all_reduce(bucket.buffer().div_(world), async_op=True)
    return work.get_future().then(lambda f: f.value()[0])


def run():
    torch.manual_seed(0)
    a = DDP(nn.Linear(4, 4))
    b = DDP(nn.Linear(4, 1))
    a.register_comm_hook(None, default_hooks.fp16_compress_hook)
    b.register_comm_hook(None, mine)
    opt = torch.optim.SGD([*a.parameters(), *b.parameters()], lr=1e-2)
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    for _ in range(2):
        opt.zero_grad()
        b(a(torch.randn(8, 4, generator=g))).pow(2).mean().backward()
        opt.step()


TRUTH = Truth()
