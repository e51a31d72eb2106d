"""Training loop that leaves out batches whose gradient spikes."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class Guard:
    def __init__(self, factor=1.5):
        self.factor, self.mean = factor, None

    def ok(self, value):
        good = self.mean is None or value < self.factor * self.mean
        if good:
            self.mean = value if self.mean is None else 0.9 * self.mean + 0.1 * value
        return good


def setup():
    global model, opt, guard
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    guard = Guard()


def batch(step):
    g = torch.Generator().manual_seed(10 * step + dist.get_rank())
    x = torch.randn(8, 4, generator=g)
    y = x.sum(1, keepdim=True)
    if step % 3 == 2 and dist.get_rank() == 1:
        y = y * 20
    return x, y


def run():
    for step in range(6):
        x, y = batch(step)
        loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        value = loss.detach()
        if guard.ok(value.item()):  # cause
            opt.step()  # also


def mean_over_ranks(t):
    t = t.clone()
    dist.all_reduce(t)
    return t / dist.get_world_size()


TRUTH = Truth(
    rule="AG603",
    fault="each rank decides on its own loss whether to take the common step",
    names=("0.weight", "0.bias", "2.weight", "2.bias"),
    where="gather",
)
