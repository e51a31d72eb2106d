"""Multi-dataset training, one head per dataset; all_reduce by hand skips the parameters without a gradient."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth


class MultiHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(6, 8)
        self.heads = nn.ModuleDict({"coco": nn.Linear(8, 3), "lvis": nn.Linear(8, 3)})

    def forward(self, x, dataset):
        return self.heads[dataset](torch.relu(self.trunk(x)))


def setup():
    global net, opt, dataset, g
    torch.manual_seed(0)
    net = MultiHead()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    dataset = ("coco", "lvis")[dist.get_rank() % 2]
    g = torch.Generator().manual_seed(dist.get_rank())


def sync_gradients():
    world = dist.get_world_size()
    for p in net.parameters():
        if p.grad is not None:  # cause
            dist.all_reduce(p.grad)  # also
            p.grad /= world


def run():
    for _ in range(3):
        x, y = torch.randn(4, 6, generator=g), torch.randint(0, 3, (4,), generator=g)
        F.cross_entropy(net(x, dataset), y).backward()
        sync_gradients()
        opt.step()
        opt.zero_grad()
    return {k: round(h.weight.norm().item(), 4) for k, h in net.heads.items()}


TRUTH = Truth(
    fault="ranks reduce different parameters together: those without a gradient are skipped on one rank",
    rule="AG603|AG301",
    names=("all_reduce",),
    where="gather",
)
