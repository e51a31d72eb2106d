"""Causal LM loss divided by the number of tokens over all ranks, under DDP."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth

PAD = 0


class TinyLM(nn.Module):
    def __init__(self, vocab=13, d=10):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.out = nn.Linear(d, vocab)

    def forward(self, t):
        return self.out(self.rnn(self.emb(t))[0])


def sentences(step):
    g = torch.Generator().manual_seed(step + 33)
    t = torch.randint(1, 13, (8, 9), generator=g)
    for row, n in zip(t, torch.randint(3, 9, (8,), generator=g)):
        row[n:] = PAD
    return t


def build():
    torch.manual_seed(0)
    return TinyLM()


def setup():
    global net, ddp, opt
    net = build()
    ddp = DDP(net)
    opt = torch.optim.SGD(net.parameters(), lr=0.5)


def summed_loss(logits, t):
    return nn.functional.cross_entropy(logits.flatten(0, 1), t[:, 1:].flatten(), ignore_index=PAD, reduction="sum")


def run():
    rank, world = dist.get_rank(), dist.get_world_size()
    for step in range(3):
        t = sentences(step)[rank::world]
        count = (t[:, 1:] != PAD).sum()
        dist.all_reduce(count)
        loss = summed_loss(ddp(t[:, :-1]), t) / count  # cause
        opt.zero_grad()
        loss.backward()
        opt.step()


TRUTH = Truth(
    rule="AG601",
    fault="global token count and DDP's mean both divide: gradients are 1/world too small",
    names=("emb.weight", "out.weight", "out.bias"),
    values=True,
)
