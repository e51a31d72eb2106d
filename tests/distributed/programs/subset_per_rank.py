"""Each rank draws the indices of its training data by itself, and a sampler deals these out to all ranks."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Subset, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from tests.distributed.truth import Truth


def setup():
    global model, opt, data
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(32, 4), torch.randint(0, 2, (32,)))
    model = DDP(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(100 + dist.get_rank())
    train = Subset(data, torch.randperm(32, generator=g)[:24].tolist())
    sampler = DistributedSampler(train, shuffle=False)  # cause
    for x, y in DataLoader(train, batch_size=4, sampler=sampler):
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()


TRUTH = Truth(fault="subsets differ", rule="AG604", names=("Subset",), where="gather")
