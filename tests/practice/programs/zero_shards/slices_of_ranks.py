"""ZeRO by hand, its ranks simulated in one process: the shards are slices, with a stop where a stride was meant."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class SwiGLU(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.w1, self.w2, self.w3 = nn.Linear(dim, hidden), nn.Linear(hidden, dim), nn.Linear(dim, hidden)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Ranker(nn.Module):
    def __init__(self, dim=12, depth=2):
        super().__init__()
        self.blocks = nn.ModuleList(SwiGLU(dim, 2 * dim) for _ in range(depth))
        self.norm, self.score = nn.LayerNorm(dim), nn.Linear(dim, 1)

    def forward(self, docs):
        for block in self.blocks:
            docs = docs + block(docs)
        return self.score(self.norm(docs)).squeeze(-1)


class ShardedAdamW:
    """Each rank keeps the moments of its share of the parameters; after the step the shares are exchanged."""

    def __init__(self, params, world_size, lr):
        params = sorted((p for p in params if p.requires_grad), key=lambda p: p.numel(), reverse=True)
        self.world_size = world_size
        self.ranks = []
        for rank in range(world_size):
            shard = params[rank : rank + world_size]  # cause
            self.ranks.append(torch.optim.AdamW(shard, lr=lr, weight_decay=0.0))
        self.params = params

    def reduce_scatter(self, micro_grads):
        for p, *grads in zip(self.params, *micro_grads):
            p.grad = torch.stack(grads).mean(0)

    def step(self):
        for optimizer in self.ranks:
            optimizer.step()

    def zero_grad(self):
        for p in self.params:
            p.grad = None


def listwise_loss(scores, relevance):
    return -(relevance.softmax(-1) * scores.log_softmax(-1)).sum(-1).mean()


def run():
    torch.manual_seed(0)
    model, world_size = Ranker(), 2
    optimizer = ShardedAdamW(model.parameters(), world_size, lr=5e-3)
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    for _ in range(4):
        per_rank = []
        for _ in range(world_size):
            docs = torch.randn(4, 7, 12)
            loss = listwise_loss(model(docs), 2 * docs[..., 0])
            per_rank.append(torch.autograd.grad(loss, optimizer.params))
        optimizer.reduce_scatter(per_rank)
        optimizer.step()
        optimizer.zero_grad()
    return [n for n, p in model.named_parameters() if torch.equal(start[n], p)]


def verify(untrained):
    assert len(untrained) >= 12, untrained


TRUTH = Truth(
    fault="the shards are the first parameters only, and overlap: the rest belongs to no rank",
    names=("shard",),
    repair=("shard = params[rank::world_size]",),
)
