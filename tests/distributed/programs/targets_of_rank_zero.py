"""A contrastive loss over gathered keys whose targets are those of rank 0 on all ranks."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, opt, g
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4)))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    g = torch.Generator().manual_seed(dist.get_rank())


def run():
    losses = []
    for _ in range(4):
        x = torch.randn(5, 6, generator=g)
        q, k = F.normalize(model(torch.cat([x, x + 0.1 * torch.randn(5, 6, generator=g)])), dim=1).chunk(2)
        keys = torch.cat(torch.distributed.nn.functional.all_gather(k.contiguous()))
        loss = F.cross_entropy(q @ keys.T / 0.1, torch.arange(len(q)))  # cause
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(round(loss.item(), 3))
    return losses


TRUTH = Truth(fault="targets miss the offset of the rank", rule="AG601", names=("cross_entropy",), where="any")
