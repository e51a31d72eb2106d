"""FSDP1 with flat parameters, wrapped by a policy."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

from tests.distributed.truth import Truth

from torch.distributed.fsdp.wrap import ModuleWrapPolicy


def setup():
    global net, opt
    torch.manual_seed(0)
    net = FSDP(
        nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)),
        auto_wrap_policy=ModuleWrapPolicy({nn.Linear}),
        device_id=torch.device("cpu"),
    )
    opt = torch.optim.SGD(net.parameters(), lr=1e-2, momentum=0.9)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(2):
        opt.zero_grad()
        net(torch.randn(4, 4, generator=g)).pow(2).mean().backward()
        opt.step()


TRUTH = Truth(values=True)
