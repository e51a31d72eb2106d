"""Megatron-style MLP by hand: column-parallel up, row-parallel down."""

import torch
import torch.distributed as dist
import torch.nn as nn

from tests.distributed.truth import Truth


class CopyIn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return g  # cause


class ReduceOut(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g


class ParallelMLP(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        w = dist.get_world_size()
        self.up = nn.Linear(d, hidden // w)
        self.down = nn.Linear(hidden // w, d, bias=False)

    def forward(self, x):
        h = torch.nn.functional.gelu(self.up(CopyIn.apply(x)))  # also
        return x + ReduceOut.apply(self.down(h))


class LM(nn.Module):
    def __init__(self, vocab=11, d=8):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        torch.manual_seed(100 + dist.get_rank())
        self.mlp = ParallelMLP(d, 16)
        torch.manual_seed(1)
        self.out = nn.Linear(d, vocab)

    def forward(self, t):
        return self.out(self.mlp(self.emb(t)))


def setup():
    global model, opt
    torch.manual_seed(0)
    model = LM()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)


def run():
    g = torch.Generator().manual_seed(4)
    for _ in range(4):
        t = torch.randint(0, 11, (4, 9), generator=g)
        logits = model(t[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), t[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()  # also
        opt.step()


TRUTH = Truth(
    rule="AG601",
    values=True,
    fault="backward of the column-parallel input does not add the ranks' partial gradients",
    names=("emb.weight",),
    where="gather",
)
