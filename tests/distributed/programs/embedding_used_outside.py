"""The logits use the sharded embedding's weight outside of its module's forward."""

import copy
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.distributed.fsdp import fully_shard

from tests.distributed.truth import Truth


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(12, 6)
        self.body = nn.Linear(6, 6)

    def forward(self, ids):
        return torch.tanh(self.body(self.emb(ids)))


def run():
    torch.manual_seed(0)
    model = Words()
    fully_shard(model.emb)
    fully_shard(model.body)
    fully_shard(model)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(2):
        ids = torch.randint(0, 12, (4, 5), generator=g)
        hidden = model(ids[:, :-1])
        logits = hidden @ model.emb.weight.t()  # cause
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()


TRUTH = Truth(
    fault="a sharded weight outside",
    names=("weight",),
    rule="AG415",
    raises="DTensor",
)
