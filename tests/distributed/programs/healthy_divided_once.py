"""DDP with a hook that sums; the program divides."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global net, opt
    torch.manual_seed(0)
    net = DDP(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)))

    def summed(state, bucket):
        return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(lambda f: f.value()[0])

    net.register_comm_hook(None, summed)
    opt = torch.optim.SGD(net.parameters(), lr=1e-2)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(2):
        opt.zero_grad()
        net(torch.randn(4, 4, generator=g)).pow(2).mean().backward()
        for p in net.parameters():
            p.grad /= dist.get_world_size()
        opt.step()


TRUTH = Truth(values=True)
