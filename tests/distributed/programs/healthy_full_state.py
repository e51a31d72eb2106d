"""The full state dict is collected by all ranks, and rank 0 writes it."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

from tests.distributed.truth import Truth


def setup():
    global net, opt
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    fully_shard(net)
    opt = torch.optim.SGD(net.parameters(), lr=1e-2)


def run():
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(2):
        opt.zero_grad()
        net(torch.randn(4, 4, generator=g)).pow(2).mean().backward()
        opt.step()
    state = get_model_state_dict(net, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    if dist.get_rank() == 0:
        assert state["0.weight"].shape == (8, 4)


TRUTH = Truth(values=True)
