"""Local SGD on a network with batch norm, averaged every few steps, then evaluated."""

import torch
import torch.distributed as dist
import torch.nn as nn

from tests.distributed.truth import Truth


def state(module):
    for t in module.parameters():  # cause
        yield t


@torch.no_grad()
def average(module):
    for t in state(module):
        if t.is_floating_point():
            dist.all_reduce(t.data)  # also
            t.data /= dist.get_world_size()


def setup():
    global net, opt
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(5, 8, bias=False), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    torch.manual_seed(dist.get_rank())


def run():
    net.train()
    for step in range(6):
        x = torch.randn(12, 5) + dist.get_rank()
        loss = nn.functional.cross_entropy(net(x), (x[:, 0] > x[:, 1]).long())
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 3 == 2:
            average(net)
    net.eval()
    with torch.no_grad():
        return net(torch.ones(2, 5))


TRUTH = Truth(
    rule="AG601",
    fault="averaging leaves out the running statistics",
    names=("1.running_mean", "1.running_var"),
    where="gather",
)
