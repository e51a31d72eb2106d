"""Pipeline whose first stage embeds and whose last stage reads out with the same matrix."""

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from tests.distributed.truth import Truth

VOCAB, DIM = 12, 6


class First(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(VOCAB, DIM)
        self.mix = nn.Linear(DIM, DIM)

    def forward(self, t):
        return self.mix(self.wte(t)).relu()


class Last(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(DIM)
        self.wte = nn.Embedding(VOCAB, DIM)

    def forward(self, h):
        return F.linear(self.norm(h), self.wte.weight)


def setup():
    global stage, opt
    torch.manual_seed(0)
    stage = First() if dist.get_rank() == 0 else Last()
    dist.broadcast(stage.wte.weight.data, src=0)
    opt = torch.optim.SGD(stage.parameters(), lr=0.3)


def tokens(step):
    return torch.randint(0, VOCAB, (4, 7), generator=torch.Generator().manual_seed(step))


def forward_backward(t):
    if dist.get_rank() == 0:
        h = stage(t[:, :-1])
        dist.send(h.detach().contiguous(), dst=1)
        g = torch.empty_like(h)
        dist.recv(g, src=1)
        h.backward(g)
    else:
        h = torch.empty(4, 6, DIM)
        dist.recv(h, src=0)
        h.requires_grad_(True)
        F.cross_entropy(stage(h).flatten(0, 1), t[:, 1:].flatten()).backward()
        dist.send(h.grad, dst=0)


def run():
    for step in range(3):
        opt.zero_grad()
        forward_backward(tokens(step))
        shared = stage.wte.weight.grad.clone()
        dist.all_reduce(shared)  # cause
        opt.step()


TRUTH = Truth(
    rule="AG601",
    fault="the summed gradient of the tied embedding is never put back",
    names=("wte.weight",),
    where="gather",
)
