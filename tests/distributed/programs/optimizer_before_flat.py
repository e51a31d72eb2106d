"""The optimizer holds the parameters of before FSDP."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

from tests.distributed.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    opt = torch.optim.AdamW(net.parameters(), lr=1e-2)  # cause
    net = FSDP(net, device_id=torch.device("cpu"))  # also
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(2):
        opt.zero_grad()
        net(torch.randn(4, 4, generator=g)).pow(2).mean().backward()
        opt.step()


TRUTH = Truth(fault="optimizer before FSDP", rule="AG605|AG404|AG405", names=("weight",))
