"""ZeRO-1 by hand: parameters are dealt to the ranks by size; each owner steps its own and broadcasts them."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth


def deal(params, world):
    """The biggest first, each to the rank that holds least."""
    load, owner = [0] * world, {}
    for p in sorted(params, key=lambda p: -p.numel()):
        rank = load.index(min(load))
        owner[p] = rank
        load[rank] += p.numel()
    return owner


def setup():
    global net, opt, owner, g
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 3))
    owner = deal(list(net.parameters()), dist.get_world_size())
    opt = torch.optim.AdamW([p for p in net.parameters() if owner[p] == dist.get_rank()], lr=1e-2)
    g = torch.Generator().manual_seed(dist.get_rank())


def step():
    world = dist.get_world_size()
    for p in net.parameters():
        dist.all_reduce(p.grad)
        p.grad /= world
    opt.step()
    for i, p in enumerate(net.parameters()):
        dist.broadcast(p.data, src=i % world)  # cause
    net.zero_grad()


def run():
    start = {n: p.detach().clone() for n, p in net.named_parameters()}
    for _ in range(3):
        x, y = torch.randn(4, 6, generator=g), torch.randint(0, 3, (4,), generator=g)
        F.cross_entropy(net(x), y).backward()
        step()
    return [n for n, p in net.named_parameters() if torch.equal(p, start[n])]


TRUTH = Truth(
    fault="parameters are broadcast from a rank that does not own them: the owner's update is overwritten with the old value",
    rule="AG602",
    names=("broadcast",),
    where="gather",
)
