"""Siamese training with DDP: two views go through the encoder one after the other; it keeps running input statistics."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class FeatureScale(nn.Module):
    """Divides by a running scale that is kept as a buffer."""

    def __init__(self, dim):
        super().__init__()
        self.register_buffer("scale", torch.ones(dim))

    def forward(self, x):
        if self.training:
            self.scale = 0.5 * self.scale + 0.5 * x.detach().std(0)
        return x / self.scale  # also


def setup():
    global encoder, opt, g
    torch.manual_seed(0)
    encoder = DDP(nn.Sequential(nn.Linear(6, 12), FeatureScale(12), nn.ReLU(), nn.Linear(12, 4)))  # also
    opt = torch.optim.SGD(encoder.parameters(), lr=0.1)
    g = torch.Generator().manual_seed(dist.get_rank())


def run():
    moved = []
    for _ in range(3):
        x = torch.randn(5, 6, generator=g)
        a = encoder(x + 0.1 * torch.randn(5, 6, generator=g))
        b = encoder(x + 0.1 * torch.randn(5, 6, generator=g))  # cause
        loss = (1 - F.cosine_similarity(a, b)).mean() + torch.relu(1 - a.std(0)).mean()
        opt.zero_grad()
        loss.backward()  # also
        opt.step()
        moved.append(round(encoder.module[0].weight.norm().item(), 5))
    return moved


TRUTH = Truth(
    fault="DDP broadcasts the buffer in place at the second forward, over the value that the first one's backward will use: rank 1's gradient is wrong",
    rule="AG202",
    names=("scale", "broadcast_buffers", "in place"),
    where="any",
)
