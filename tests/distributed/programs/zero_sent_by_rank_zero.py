"""Each rank steps its own part; then all parts are sent by rank 0, which has stepped only its own."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F

from tests.distributed.truth import Truth


def setup():
    global model, opt, parameters
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    parameters = list(model.parameters())
    opt = torch.optim.Adam(parameters[dist.get_rank() :: dist.get_world_size()], lr=1e-2)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        model.zero_grad()
        x = torch.randn(6, 4, generator=g)
        F.cross_entropy(model(x), (x.sum(1) > 0).long()).backward()
        for p in parameters:
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
        opt.step()  # also
        for p in parameters:
            dist.broadcast(p.data, src=0)  # cause


TRUTH = Truth(fault="steps of rank 1 are overwritten", rule="AG601|AG602|AG413", names=("0.bias",), where="any")
