"""An IterableDataset gives every rank all of its samples."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, IterableDataset

from tests.distributed.truth import Truth


class Lines(IterableDataset):
    def __init__(self):
        self.rows = torch.randn(12, 4, generator=torch.Generator().manual_seed(9))

    def __iter__(self):
        return iter(self.rows)


def setup():
    global model, opt, loader
    torch.manual_seed(0)
    model = DDP(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    loader = DataLoader(Lines(), batch_size=4)  # also


def run():
    for x in loader:  # also
        opt.zero_grad()
        F.mse_loss(model(x), x.sum(1, keepdim=True)).backward()  # cause
        opt.step()


TRUTH = Truth(fault="all ranks read all lines", rule="AG604", where="any", values=True, before=True)
