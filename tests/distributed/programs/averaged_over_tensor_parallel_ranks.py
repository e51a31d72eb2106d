"""Two by two ranks: gradients of parts of a split layer are averaged over all ranks, not over those with the same part."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth

WORLD = 4


class Split(nn.Module):
    """Hidden units split over a group; the parts are added."""

    def __init__(self, d, hidden, group):
        super().__init__()
        n, r = dist.get_world_size(group), dist.get_rank(group)
        up, down = nn.Linear(d, hidden, bias=False), nn.Linear(hidden, 1, bias=False)
        self.up = nn.Parameter(up.weight.detach().chunk(n, 0)[r].clone())
        self.down = nn.Parameter(down.weight.detach().chunk(n, 1)[r].clone())
        self.group = group

    def forward(self, x):
        return Sum.apply((x @ self.up.t()).relu() @ self.down.t(), self.group)


class Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        x = x.clone()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, g):
        return g, None


def setup():
    global model, opt, replica
    rank = dist.get_rank()
    columns = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    [dist.new_group([0, 2]), dist.new_group([1, 3])]
    torch.manual_seed(0)
    model = Split(6, 16, columns[rank // 2])
    replica = rank // 2
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(12 + replica)
    for _ in range(3):
        x = torch.randn(8, 6, generator=g)
        opt.zero_grad()
        F.mse_loss(model(x), x[:, :1].abs()).backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)  # cause
            p.grad /= dist.get_world_size()  # also
        opt.step()
    return round(model.up.norm().item(), 4)


TRUTH = Truth(
    fault="gradients of different parts of a weight are averaged",
    rule="AG601",
    names=("up",),
    where="gather",
    values=True,
)
