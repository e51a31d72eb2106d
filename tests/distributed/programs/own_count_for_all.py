"""Gradients are summed over the ranks, and each rank divides its loss by its own count of tokens."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(11, 8), nn.Linear(8, 11))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(3 + dist.get_rank())
    seen = 0
    for _ in range(3):
        tokens = torch.randint(0, 11, (4, 7), generator=g)
        labels = tokens.roll(-1, 1)
        labels[:, 4 + dist.get_rank() :] = -100
        count = (labels != -100).sum()
        total = count.clone()
        dist.all_reduce(total)
        seen += int(total)
        opt.zero_grad()
        loss = F.cross_entropy(model(tokens).flatten(0, 1), labels.flatten(), ignore_index=-100, reduction="sum")
        (loss / count).backward()  # cause
        for p in model.parameters():
            dist.all_reduce(p.grad)  # also
        opt.step()
    return seen


TRUTH = Truth(fault="a sum of means over the ranks", rule="AG601", names=("all_reduce",), where="any")
