"""Rank 1 has a larger vocabulary, and only a part of its table is overwritten."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def run():
    torch.manual_seed(dist.get_rank())
    words = nn.Embedding(5 if dist.get_rank() == 0 else 7, 3)
    words.requires_grad_(False)
    scorer = nn.Linear(3, 1)
    for p in (*words.parameters(), *scorer.parameters()):
        dist.broadcast(p.data, 0)  # cause
    opt = torch.optim.SGD(scorer.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        scorer(words(torch.randint(0, 5, (4,)))).square().mean().backward()
        for p in scorer.parameters():
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
        opt.step()


TRUTH = Truth(fault="another size", names=("broadcast", "15 elements", "21 elements"), rule="AG603", where="gather")
