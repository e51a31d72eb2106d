"""A loss with parameters of its own stands beside the wrapper."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class CenterLoss(nn.Module):
    def __init__(self, classes, width):
        super().__init__()
        self.centers = nn.Parameter(torch.zeros(classes, width))

    def forward(self, features, labels):
        return (features - self.centers[labels]).square().sum(1).mean()


def setup():
    global model, criterion, opt
    torch.manual_seed(0)
    model = DDP(nn.Linear(8, 4))
    criterion = CenterLoss(3, 4)
    opt = torch.optim.SGD([*model.parameters(), *criterion.parameters()], lr=0.1)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        x, y = torch.randn(6, 8, generator=g), torch.randint(3, (6,), generator=g)
        loss = criterion(model(x), y)  # cause
        opt.zero_grad()
        loss.backward()  # also
        opt.step()


TRUTH = Truth(fault="centers are never reduced", names=("centers",), rule="AG601")
