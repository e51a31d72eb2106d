"""Local SGD averages a list of weights that was made before the head was replaced."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global model, opt, shared, g
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 10))
    shared = list(model.parameters())  # also
    model[2] = nn.Linear(8, 2)  # also
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    g = torch.Generator().manual_seed(dist.get_rank())


@torch.no_grad()
def average_weights():
    for p in shared:
        dist.all_reduce(p)  # cause
        p /= dist.get_world_size()


def run():
    for step in range(4):
        x = torch.randn(8, 4, generator=g)
        opt.zero_grad()
        F.cross_entropy(model(x), (x[:, 0] > 0).long()).backward()
        opt.step()
        if step % 2:
            average_weights()
    return [round(p.norm().item(), 4) for p in model.parameters()]


TRUTH = Truth(
    fault="the head is never averaged, its predecessor is", rule="AG601", names=("model.2.weight",), where="any"
)
