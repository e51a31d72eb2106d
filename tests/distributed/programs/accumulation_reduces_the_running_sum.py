"""Hand-written data parallel with gradient accumulation: the gradients are averaged after every micro-batch."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth

ACCUM = 4


def setup():
    global net, opt, batches
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 3))
    for p in net.parameters():
        dist.broadcast(p.data, src=0)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    batches = [(torch.randn(4, 6, generator=g), torch.randint(0, 3, (4,), generator=g)) for _ in range(3 * ACCUM)]


def average_gradients(model):
    for p in model.parameters():
        dist.all_reduce(p.grad)  # also


def run():
    norms = []
    for i, (x, y) in enumerate(batches):
        loss = F.cross_entropy(net(x), y) / (ACCUM * dist.get_world_size())
        loss.backward()
        average_gradients(net)  # cause
        if (i + 1) % ACCUM == 0:
            norms.append(round(torch.cat([p.grad.flatten() for p in net.parameters()]).norm().item(), 4))
            opt.step()
            opt.zero_grad()
    return norms


TRUTH = Truth(
    fault="accumulated gradient all-reduced again at every micro-batch",
    rule="AG601",
    names=("all_reduce",),
    where="own",
)
