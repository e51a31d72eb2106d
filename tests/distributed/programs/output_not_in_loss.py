"""The second output is not in the loss: its head gets no gradient, and find_unused_parameters hides it."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.value, self.auxiliary = nn.Linear(8, 1), nn.Linear(8, 3)

    def forward(self, x):
        h = self.body(x).relu()
        return self.value(h), self.auxiliary(h)  # also


def setup():
    global model, opt
    torch.manual_seed(0)
    model = DDP(TwoHeads(), find_unused_parameters=True)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        x = torch.randn(6, 4, generator=g)
        opt.zero_grad()
        value, _ = model(x)  # also
        F.mse_loss(value, x.sum(1, keepdim=True)).backward()  # cause
        opt.step()


TRUTH = Truth(
    fault="an output is not in the loss",
    rule="AG301|AG603",
    names=("auxiliary.weight",),
)
