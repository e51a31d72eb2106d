"""A branch of the model runs on one rank only; the reducer waits for it."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(4, 4)
        self.extra = nn.Linear(4, 4)
        self.out = nn.Linear(4, 1)

    def forward(self, x, use_extra):
        h = self.stem(x)
        if use_extra:
            h = h + self.extra(h)
        return self.out(h)


def setup():
    global model, opt
    torch.manual_seed(0)
    model = DDP(Two())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    torch.manual_seed(dist.get_rank())
    for _ in range(2):
        opt.zero_grad()
        loss = model(torch.randn(3, 4), use_extra=False).mean()  # cause
        loss.backward()  # also
        opt.step()


TRUTH = Truth(
    fault="a parameter is unused under DDP",
    names=("extra.weight",),
    rule="AG603",
    raises="Expected to have finished reduction",
)
