"""The sum of losses is divided by the tokens of all ranks and multiplied by their number, which the wrapper divides by."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Embedding(11, 8), nn.Linear(8, 11)))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)


def run():
    g = torch.Generator().manual_seed(3 + dist.get_rank())
    for _ in range(3):
        tokens = torch.randint(0, 11, (4, 7), generator=g)
        labels = tokens.roll(-1, 1)
        labels[:, 4 + dist.get_rank() :] = -100
        count = (labels != -100).sum()
        dist.all_reduce(count)
        opt.zero_grad()
        loss = F.cross_entropy(model(tokens).flatten(0, 1), labels.flatten(), ignore_index=-100, reduction="sum")
        (loss * dist.get_world_size() / count).backward()
        opt.step()


TRUTH = Truth()
