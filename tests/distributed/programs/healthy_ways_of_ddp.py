"""The wrapper with its options: hooks, static graphs, bucket views, sparse gradients, checkpoints, autocast, compile."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.checkpoint import checkpoint

from tests.distributed.truth import Truth


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return self.b(checkpoint(self.a, x, use_reentrant=False).relu())


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(9, 4, sparse=True)

    def forward(self, x):
        return self.table((x.abs() * 2).long().clamp(max=8))


def train(model, steps=2, cast=False):
    g = torch.Generator().manual_seed(dist.get_rank())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        opt.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=cast):
            loss = model(torch.randn(5, 4, generator=g)).float().square().mean()
        loss.backward()
        opt.step()


def run():
    torch.manual_seed(0)
    train(DDP(Block(), static_graph=True))
    train(DDP(Block(), gradient_as_bucket_view=True), cast=True)
    hooked = DDP(Block())
    hooked.register_comm_hook(None, fp16_compress_hook)
    train(hooked)
    train(DDP(Words()))
    train(DDP(nn.Sequential(nn.Linear(4, 4), nn.SyncBatchNorm(4) if False else nn.BatchNorm1d(4), nn.Linear(4, 1))))
    train(torch.compile(DDP(Block()), backend="eager"))
    train(DDP(torch.compile(Block(), backend="eager")))
    inner = DDP(Block())
    train(nn.Sequential(inner, nn.Flatten()))


TRUTH = Truth()
