"""Each rank has half of the hidden units of every layer of a small physics surrogate; their contributions are summed."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth


class CopyIn(torch.autograd.Function):
    """Every rank reads the same input; what the ranks want of it is added."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


class SummedLayer(nn.Module):
    """tanh(A x), a set of units on each rank, summed over the sets."""

    def __init__(self, inp, out):
        super().__init__()
        self.units = nn.Linear(inp, out)

    def forward(self, x):
        h = torch.tanh(self.units(CopyIn.apply(x)))  # also
        with torch.no_grad():
            dist.all_reduce(h)  # cause
        return h


class Surrogate(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(40 + dist.get_rank())
        self.body = nn.Sequential(SummedLayer(3, 10), SummedLayer(10, 10))
        torch.manual_seed(4)
        self.out = nn.Linear(10, 2)

    def forward(self, x):
        return self.out(self.body(x))


def drag(x):
    return torch.stack([x[:, 0] * x[:, 1].abs(), torch.sin(x[:, 2])], 1)


def setup():
    global model, opt, g
    model = Surrogate()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    g = torch.Generator().manual_seed(9)


def run():
    norms = []
    for _ in range(4):
        x = torch.randn(16, 3, generator=g)
        opt.zero_grad()
        loss = F.mse_loss(model(x), drag(x))
        loss.backward()  # also
        norms.append(round(model.body[0].units.weight.grad.norm().item(), 5))
        opt.step()
    return norms


TRUTH = Truth(
    fault="all_reduce writes the sum over the output that tanh keeps for its backward: the derivative is taken of the sum",
    rule="AG202|AG601",
    names=("tanh", "all_reduce"),
    where="own",
)
