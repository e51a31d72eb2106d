"""Each rank has files of its own, and splits them by itself."""

import copy

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def net():
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


def batches(count=4, size=6):
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    return [(torch.randn(size, 4, generator=g), torch.randint(0, 2, (size,), generator=g)) for _ in range(count)]


from torch.utils.data import DataLoader, TensorDataset, random_split


def setup():
    global model, opt, data
    torch.manual_seed(0)
    model = DDP(net())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(100 + dist.get_rank())
    data = TensorDataset(torch.randn(16, 4), torch.randint(0, 2, (16,)))


def run():
    train, valid = random_split(data, [12, 4])
    for x, y in DataLoader(train, batch_size=4, shuffle=True):
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()


TRUTH = Truth()
