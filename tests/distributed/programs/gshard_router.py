"""A sparse mixture as GShard has it: one expert a rank, a fixed capacity, gates applied where the expert is."""

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as dnn
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth

DIM, CAPACITY = 6, 6


def expert():
    return nn.Sequential(nn.Linear(DIM, 12), nn.GELU(), nn.Linear(12, DIM))


def exchange(x):
    x = x.contiguous()
    return dnn.all_to_all_single(torch.empty_like(x), x)


class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Linear(DIM, dist.get_world_size(), bias=False)
        self.expert = expert()

    def dispatch(self, probs):
        gate, chosen = probs.max(1)
        mask = F.one_hot(chosen, probs.size(1))
        place = (mask.cumsum(0) - 1).gather(1, chosen[:, None]).squeeze(1)
        kept = (place < CAPACITY).nonzero().squeeze(1)
        return kept, chosen[kept] * CAPACITY + place[kept], gate[kept]

    def forward(self, x):
        kept, slots, gate = self.dispatch(self.router(x).softmax(1))
        total = dist.get_world_size() * CAPACITY
        tokens = torch.zeros(total, DIM).index_copy(0, slots, x[kept])
        gates = torch.zeros(total).index_copy(0, slots, gate)
        arrived = exchange(tokens)
        weights = torch.empty_like(gates)
        dist.all_to_all_single(weights, gates)  # cause
        answers = exchange(self.expert(arrived) * weights[:, None])  # also
        return x.index_add(0, kept, answers[slots])


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.stem, self.head = nn.Linear(5, DIM), nn.Linear(DIM, 3)
        self.norm = nn.LayerNorm(DIM)
        self.mixture = Mixture()
        torch.manual_seed(10 + dist.get_rank())
        self.mixture.expert = expert()

    def forward(self, x):
        return self.head(self.norm(self.mixture(torch.tanh(self.stem(x)))))


def reduce_shared(model):
    for name, p in model.named_parameters():
        if p.grad is not None:
            if "expert" not in name:
                dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()


def run():
    model = Model()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(4):
        x, y = torch.randn(8, 5, generator=g), torch.randint(0, 3, (8,), generator=g)
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        reduce_shared(model)
        opt.step()
    return model.mixture.router.weight.grad is not None, round(model.mixture.router.weight.norm().item(), 5)


TRUTH = Truth(
    fault="the gates travel by a collective without gradient: tokens and experts learn, the router never does",
    rule="AG105|AG301|AG104|AG601",
    names=("router.weight",),
    where="own",
)
