"""MoCo on two ranks: keys are shuffled over the ranks before the key encoder, whose BatchNorm must not leak, and sorted back."""

import copy

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth

TEMPERATURE, MOMENTUM, QUEUE, CODE = 0.2, 0.9, 16, 6


@torch.no_grad()
def concat_all_gather(tensor):
    parts = [torch.empty_like(tensor) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, tensor.contiguous())
    return torch.cat(parts)


def encoder():
    return nn.Sequential(nn.Linear(8, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, CODE))


class MoCo(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = encoder()
        self.k = copy.deepcopy(self.q).requires_grad_(False)
        self.register_buffer("queue", F.normalize(torch.randn(QUEUE, CODE), dim=1))
        self.register_buffer("position", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def shuffle(self, x):
        everything = concat_all_gather(x)
        permutation = torch.randperm(len(everything))  # cause
        inverse = permutation.argsort()
        own = permutation.view(dist.get_world_size(), -1)[dist.get_rank()]
        return everything[own], inverse

    @torch.no_grad()
    def unshuffle(self, x, inverse):
        own = inverse.view(dist.get_world_size(), -1)[dist.get_rank()]
        return concat_all_gather(x)[own]  # also

    @torch.no_grad()
    def keys(self, x):
        for a, b in zip(self.k.parameters(), self.q.parameters()):
            a.mul_(MOMENTUM).add_(b, alpha=1 - MOMENTUM)
        x, inverse = self.shuffle(x)
        return self.unshuffle(F.normalize(self.k(x), dim=1), inverse)

    @torch.no_grad()
    def enqueue(self, keys):
        keys, start = concat_all_gather(keys), int(self.position)
        self.queue[start : start + len(keys)] = keys
        self.position[0] = (start + len(keys)) % QUEUE

    def forward(self, view1, view2):
        q, k = F.normalize(self.q(view1), dim=1), self.keys(view2)
        logits = torch.cat([(q * k).sum(1, keepdim=True), q @ self.queue.clone().t()], 1) / TEMPERATURE
        self.enqueue(k)
        return F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long))


def run():
    torch.manual_seed(0)
    model = DDP(MoCo())
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    torch.manual_seed(dist.get_rank())
    losses = []
    for _ in range(5):
        x = torch.randn(4, 8)
        loss = model(x + 0.05 * torch.randn_like(x), x + 0.05 * torch.randn_like(x))
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(round(loss.item(), 3))
    return losses


TRUTH = Truth(
    fault="every rank draws its own permutation: keys are not sorted back to their queries, some are lost, some are there twice",
    rule="AG601|AG604",
    names=("randperm",),
    values=True,
    where="gather",
)
