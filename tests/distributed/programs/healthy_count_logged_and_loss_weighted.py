"""A count of all ranks is logged, and a mean loss has a weight that happens to be the number of ranks."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


WEIGHTS = {"labels": 2.0}


def setup():
    global model, opt, g
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Embedding(11, 8), nn.Linear(8, 11)))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    g = torch.Generator().manual_seed(70 + dist.get_rank())


def run():
    weight = WEIGHTS["labels"]
    for _ in range(3):
        tokens = torch.randint(0, 11, (4, 7), generator=g)
        count = torch.tensor([tokens.numel()])
        dist.all_reduce(count)
        opt.zero_grad()
        loss = F.cross_entropy(model(tokens).flatten(0, 1), tokens.roll(-1, 1).flatten()) * weight
        loss.backward()
        opt.step()


TRUTH = Truth()
