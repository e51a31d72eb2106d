"""fully_shard synchronises where the counter of batches is a multiple; the step at the end of an epoch comes between."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

from tests.distributed.truth import Truth

ACCUMULATE = 2


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    fully_shard(model[0])
    fully_shard(model)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    batches = [torch.randn(8, 4, generator=g) for _ in range(5)]
    for _ in range(2):
        for i, x in enumerate(batches, 1):
            full = i % ACCUMULATE == 0
            model.set_requires_gradient_sync(full)  # cause
            (model(x).pow(2).mean() / ACCUMULATE).backward()  # also
            if full or i == len(batches):
                opt.step()  # also
                opt.zero_grad()


TRUTH = Truth(fault="the last micro-batch is not reduced", rule="AG601|AG305|AG301|AG413", names=("weight",))
