"""One expert a rank; router replicated, experts not."""

import torch
import torch.distributed as dist
import torch.nn as nn

from tests.distributed.truth import Truth


class Exchange(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, got, sent):
        ctx.splits = got, sent
        out = x.new_empty(sum(got), x.shape[1])
        dist.all_to_all_single(out, x.contiguous(), got, sent)
        return out

    @staticmethod
    def backward(ctx, g):
        got, sent = ctx.splits
        out = g.new_empty(sum(sent), g.shape[1])
        dist.all_to_all_single(out, g.contiguous(), sent, got)
        return out, None, None


class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        world = dist.get_world_size()
        self.router = nn.Linear(d, world)
        everyone = [nn.Linear(d, d) for _ in range(world)]
        self.expert = everyone[dist.get_rank()]
        for p in self.expert.parameters():
            p.expert = True

    def forward(self, x):
        gate, where = self.router(x).softmax(-1).max(-1)
        order = where.argsort(stable=True)
        sent = torch.bincount(where, minlength=dist.get_world_size())
        got = torch.empty_like(sent)
        dist.all_to_all_single(got, sent)
        got, sent = got.tolist(), sent.tolist()
        h = self.expert(Exchange.apply(x[order], got, sent))
        back = Exchange.apply(h, sent, got)
        return x + gate[:, None] * torch.zeros_like(x).index_copy(0, order, back)


def setup():
    global layer, opt
    torch.manual_seed(0)
    layer = Layer(6)
    opt = torch.optim.SGD(layer.parameters(), lr=0.1)
    torch.manual_seed(1 + dist.get_rank())


def sync(module):
    world = dist.get_world_size()
    for p in module.parameters():
        if getattr(p, "expert", False):
            if p.grad is not None:
                p.grad /= world
        else:
            dist.all_reduce(p.grad)
            p.grad /= world


def run():
    for _ in range(3):
        x = torch.randn(12, 6)
        loss = (layer(x) - x.flip(1)).square().mean()
        opt.zero_grad()
        loss.backward()
        sync(layer)
        opt.step()


TRUTH = Truth()
