"""Mixed precision with ZeRO-1 by hand: bf16 weights, each rank has the fp32 masters and the Adam state of its own part."""

import os
import tempfile

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.items = nn.Embedding(20, 6)
        self.users = nn.Embedding(10, 6)
        self.score = nn.Linear(12, 1)

    def forward(self, user, item):
        return self.score(torch.cat([self.users(user), self.items(item)], 1)).squeeze(1)


class ShardedAdam:
    def __init__(self, params, lr):
        self.params = list(params)
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        count = sum(p.numel() for p in self.params)
        self.size = -(-count // self.world)
        self.master = self.own(self.flat(self.params)).float().clone().requires_grad_(True)
        self.adam = torch.optim.Adam([self.master], lr=lr)

    def flat(self, tensors):
        joined = torch.cat([t.detach().flatten() for t in tensors])
        return F.pad(joined, (0, self.size * self.world - len(joined)))

    def own(self, flat):
        return flat[self.rank * self.size : (self.rank + 1) * self.size]

    @torch.no_grad()
    def step(self):
        grads = self.flat([p.grad for p in self.params]).float()
        dist.all_reduce(grads)
        self.master.grad = self.own(grads) / self.world
        self.adam.step()
        parts = [torch.empty(self.size, dtype=torch.bfloat16) for _ in range(self.world)]
        dist.all_gather(parts, self.master.detach().to(torch.bfloat16))
        weights = torch.cat(parts)[: sum(p.numel() for p in self.params)]
        for p, w in zip(self.params, weights.split([p.numel() for p in self.params])):
            p.copy_(w.view_as(p))  # also
            p.grad = None


def write_pretrained(path):
    torch.manual_seed(77)
    torch.save(Ranker().state_dict(), path)


def setup():
    global folder, path
    folder = tempfile.TemporaryDirectory()
    path = os.path.join(folder.name, "ranker.pt")
    write_pretrained(path)


def run():
    torch.manual_seed(0)
    model = Ranker().bfloat16()
    opt = ShardedAdam(model.parameters(), lr=1e-2)  # also
    model.load_state_dict(torch.load(path))  # cause
    g = torch.Generator().manual_seed(dist.get_rank())
    losses = []
    before = model.items.weight.detach().float().clone()
    for _ in range(4):
        user, item = torch.randint(0, 10, (8,), generator=g), torch.randint(0, 20, (8,), generator=g)
        loss = F.binary_cross_entropy_with_logits(model(user, item).float(), (user % 2 == item % 2).float())
        loss.backward()
        opt.step()
        losses.append(round(loss.item(), 4))
    return losses, round((model.items.weight.float() - before).abs().max().item(), 3)


TRUTH = Truth(
    fault="weights are loaded behind the making of the fp32 masters: the first step writes the random masters over them",
    rule="AG205|AG306|AG405|AG601",
    names=("load_state_dict",),
    values=True,
    where="any",
)
