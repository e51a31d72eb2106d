"""The sampler's epoch never moves: the same order in each epoch."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth

from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def setup():
    global model, opt, loader
    torch.manual_seed(0)
    model = DDP(nn.Linear(4, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    data = TensorDataset(torch.randn(16, 4))
    loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data, shuffle=True))


def run():
    for _ in range(3):
        for (x,) in loader:  # cause
            opt.zero_grad()
            model(x).square().mean().backward()
            opt.step()


TRUTH = Truth(fault="set_epoch is missing", names=("set_epoch",), rule="AG604")
