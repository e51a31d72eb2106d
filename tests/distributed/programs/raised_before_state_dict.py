"""One rank raises before it takes part in the state dict of a sharded model."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

from tests.distributed.truth import Truth

from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict


def setup():
    global net, opt
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    fully_shard(net)
    opt = torch.optim.SGD(net.parameters(), lr=1e-2)


def run():
    net(torch.randn(4, 4)).pow(2).mean().backward()
    opt.step()
    if dist.get_rank() == 1:
        raise ValueError("no space left")
    get_model_state_dict(net, options=StateDictOptions(full_state_dict=True))  # cause


TRUTH = Truth(
    fault="a rank raised", rule="AG603", where="gather", names=("rank 1 raised an error",), raises="no space left"
)
