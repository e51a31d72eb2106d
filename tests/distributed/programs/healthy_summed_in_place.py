"""Row-parallel layer: all_reduce sums in place what autograd records, whose gradient passes through unchanged."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth


class Row(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        n, r = dist.get_world_size(), dist.get_rank()
        up, down = nn.Linear(d, hidden, bias=False), nn.Linear(hidden, 1, bias=False)
        self.up = nn.Parameter(up.weight.detach().chunk(n)[r].clone())
        self.down = nn.Parameter(down.weight.detach().chunk(n, 1)[r].clone())

    def forward(self, x):
        y = F.linear(F.gelu(F.linear(x, self.up)), self.down)
        dist.all_reduce(y)
        return y


def setup():
    global model, opt
    torch.manual_seed(0)
    model = Row(4, 12)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(1)
    for _ in range(3):
        x = torch.randn(8, 4, generator=g)
        opt.zero_grad()
        F.mse_loss(model(x), x[:, :1].abs()).backward()
        opt.step()
    return round(model.up.norm().item(), 4)


TRUTH = Truth(values=True)
