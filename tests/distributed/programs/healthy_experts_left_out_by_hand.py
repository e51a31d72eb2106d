"""A mixture with one expert a rank; the gradients of all but the expert are averaged."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth


class Exchange(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = torch.empty_like(x)
        dist.all_to_all_single(out, x.contiguous())
        return out

    @staticmethod
    def backward(ctx, g):
        out = torch.empty_like(g)
        dist.all_to_all_single(out, g.contiguous())
        return out


class MoE(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.inp, self.out = nn.Linear(d, d), nn.Linear(d, 2)
        torch.manual_seed(100 + dist.get_rank())
        self.expert = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        h = self.inp(x)
        return self.out(h + Exchange.apply(self.expert(Exchange.apply(h))))


def setup():
    global model, opt, g
    torch.manual_seed(0)
    model = MoE(4)
    for m in (model.inp, model.out):
        for p in m.parameters():
            dist.broadcast(p.data, 0)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    g = torch.Generator().manual_seed(dist.get_rank())


def average_gradients(module):
    for name, p in module.named_parameters():
        if name.startswith("expert"):
            p.grad /= dist.get_world_size()
            continue
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()


def run():
    for _ in range(3):
        x = torch.randn(8, 4, generator=g)
        opt.zero_grad()
        F.cross_entropy(model(x), (x[:, 0] > 0).long()).backward()
        average_gradients(model)
        opt.step()
    return round(model.expert[0].weight.norm().item(), 4)


TRUTH = Truth(values=True)
