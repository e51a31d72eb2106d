"""Transfer learning: the head is reset for the new task after the model is wrapped."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(6, 10), nn.ReLU())
        self.head = nn.Linear(10, 2)

    def forward(self, x):
        return self.head(self.features(x))


def seed_everything(seed):
    torch.manual_seed(seed + dist.get_rank())


def setup():
    global net, ddp
    seed_everything(42)
    net = Net()
    ddp = DDP(net)


def run():
    nn.init.normal_(net.head.weight, std=0.02)  # cause
    nn.init.zeros_(net.head.bias)
    opt = torch.optim.AdamW(ddp.parameters(), lr=1e-2)
    for _ in range(3):
        x = torch.randn(8, 6)
        loss = nn.functional.cross_entropy(ddp(x), (x[:, 0] > 0).long())
        opt.zero_grad()
        loss.backward()
        opt.step()


TRUTH = Truth(
    rule="AG601",
    values=True,
    fault="each rank draws its own head after DDP has already broadcast the weights",
    names=("head.weight",),
    where="gather",
)
