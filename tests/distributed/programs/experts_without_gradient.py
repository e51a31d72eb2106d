"""Tokens travel to their experts by all_to_all_single: no gradient comes back."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global front, expert, opt
    torch.manual_seed(0)
    front = DDP(nn.Linear(4, 6))
    torch.manual_seed(10 + dist.get_rank())
    expert = nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Linear(12, 6))
    opt = torch.optim.SGD([*front.parameters(), *expert.parameters()], lr=0.1)


def exchanged(x):
    out = torch.empty_like(x)
    dist.all_to_all_single(out, x)  # cause
    return out


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        x = torch.randn(8, 4, generator=g)
        opt.zero_grad()
        h = front(x)
        h = h + exchanged(expert(exchanged(h)))
        F.mse_loss(h, torch.ones_like(h)).backward()  # also
        opt.step()


TRUTH = Truth(fault="no gradient through all_to_all", rule="AG601|AG301|AG105|AG104|AG305", names=("weight",))
