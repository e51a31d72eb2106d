"""DDP on two ranks; the loss is halved by a weight that is two, and the data is dealt to as many ranks as there are."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from tests.distributed.truth import Truth


def setup():
    global model, opt, data
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    g = torch.Generator().manual_seed(1)
    data = TensorDataset(torch.randn(16, 4, generator=g), torch.randint(0, 2, (16,), generator=g))


def run():
    softness = 2
    sampler = DistributedSampler(data, num_replicas=dist.get_world_size(), rank=dist.get_rank())
    for x, y in DataLoader(data, batch_size=4, sampler=sampler):
        opt.zero_grad()
        loss = F.cross_entropy(model(x), y) / softness
        loss.backward()
        opt.step()
    sampler.set_epoch(1)
    for x, y in DataLoader(data, batch_size=4, sampler=sampler):
        opt.zero_grad()
        loss = F.cross_entropy(model(x), y) / 2
        loss.backward()
        opt.step()


TRUTH = Truth()
