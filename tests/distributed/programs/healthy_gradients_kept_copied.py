"""Gradients of the step before are copied, and compared with the new ones."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, opt, g
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    model = DDP(net, gradient_as_bucket_view=True)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    g = torch.Generator().manual_seed(dist.get_rank())


def run():
    before, cosines = None, []
    for _ in range(4):
        x = torch.randn(8, 4, generator=g)
        opt.zero_grad(set_to_none=False)
        F.cross_entropy(model(x), (x[:, 0] > 0).long()).backward()
        now = [p.grad for p in model.parameters()]
        copies = [g.clone() for g in now]
        if before is not None:
            alike = sum((a * b).sum() for a, b in zip(before, now)) / sum(b.square().sum() for b in now)
            cosines.append(round(alike.item(), 3))
            for p, old in zip(model.parameters(), before):
                p.grad.mul_(0.5).add_(old, alpha=0.5)
        before = copies
        opt.step()
    return cosines


TRUTH = Truth()
