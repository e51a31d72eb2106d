"""The head is tied to the embedding once the model is wrapped."""

import copy
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(12, 6)
        self.body = nn.Linear(6, 6)
        self.head = nn.Linear(6, 12, bias=False)

    def forward(self, ids):
        return self.head(torch.tanh(self.body(self.emb(ids))))


def run():
    torch.manual_seed(0)
    model = DDP(Words())
    model.module.head.weight = model.module.emb.weight  # cause
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        ids = torch.randint(0, 12, (4, 5), generator=g)
        logits = model(ids[:, :-1])  # also
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()


TRUTH = Truth(
    fault="tied after wrap",
    names=("Linear.weight",),
    rule="AG603",
    where="any",
    raises="Expected to have finished reduction",
)
