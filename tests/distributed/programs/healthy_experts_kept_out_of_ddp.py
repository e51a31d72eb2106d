"""Expert parallel inside DDP: experts are named in DDP's ignore list, their own gradients are scaled instead of reduced."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class AllToAll(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = torch.empty_like(x)
        dist.all_to_all_single(out, x.contiguous())
        return out

    @staticmethod
    def backward(ctx, grad):
        return AllToAll.forward(ctx, grad)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.inp, self.out = nn.Linear(5, 6), nn.Linear(6, 3)
        torch.manual_seed(1 + dist.get_rank())
        self.expert = nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Linear(12, 6))

    def forward(self, x):
        h = torch.tanh(self.inp(x))
        return self.out(h + AllToAll.apply(self.expert(AllToAll.apply(h))))


def setup():
    global model, experts, opt, g
    net = Model()
    experts = list(net.expert.parameters())
    DDP._set_params_and_buffers_to_ignore_for_model(net, [f"expert.{n}" for n, _ in net.expert.named_parameters()])
    model = DDP(net)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
    g = torch.Generator().manual_seed(dist.get_rank())


def clip(limit):
    """One norm for everybody: the experts' squares are summed over the ranks, the rest counts once."""
    shared = [p for p in model.parameters() if not any(p is e for e in experts)]
    total = sum(p.grad.pow(2).sum() for p in experts)
    dist.all_reduce(total)
    norm = (total + sum(p.grad.pow(2).sum() for p in shared)).sqrt()
    for p in model.parameters():
        p.grad.mul_((limit / (norm + 1e-6)).clamp(max=1.0))


def run():
    for _ in range(3):
        x, y = torch.randn(4, 5, generator=g), torch.randint(0, 3, (4,), generator=g)
        F.cross_entropy(model(x), y).backward()
        for p in experts:
            p.grad /= dist.get_world_size()  # the tokens of all ranks are in it already
        clip(1.0)
        opt.step()
        opt.zero_grad()
    return [round(p.norm().item(), 5) for p in (model.module.inp.weight, model.module.expert[0].weight)]


TRUTH = Truth()
