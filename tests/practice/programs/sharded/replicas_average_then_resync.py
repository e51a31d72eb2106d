"""Data parallelism by hand: replicas get the master's weights by copy_, their gradients are averaged into the master by weight, the buckets back every .grad."""

import copy
import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 8), nn.GroupNorm(2, 8), nn.ReLU(), nn.Linear(8, 3))


class HandParallel:
    def __init__(self, master, world):
        self.master = master
        self.replicas = [copy.deepcopy(master) for _ in range(world)]
        self.buckets = [torch.zeros(sum(p.numel() for p in master.parameters())) for _ in range(world)]
        for replica, bucket in zip(self.replicas, self.buckets):
            at = 0
            for p in replica.parameters():  # .grad is a view of the bucket, as in DDP
                p.grad = bucket[at : at + p.numel()].view_as(p)
                at += p.numel()

    @torch.no_grad()
    def broadcast(self):
        for replica in self.replicas:
            torch._foreach_copy_(list(replica.parameters()), list(self.master.parameters()))

    def backward(self, x, y):
        parts = list(zip(self.replicas, x.tensor_split(len(self.replicas)), y.tensor_split(len(self.replicas))))
        for replica, px, py in parts:
            F.cross_entropy(replica(px), py).backward()
        with torch.no_grad():
            total = sum(b * (len(px) / len(x)) for b, (_, px, _) in zip(self.buckets, parts))
            at = 0
            for p in self.master.parameters():
                p.grad = total[at : at + p.numel()].view_as(p)
                at += p.numel()

    def zero(self):
        for bucket in self.buckets:
            bucket.zero_()  # the views stay in place


def data():
    g = torch.Generator().manual_seed(7)
    return [(torch.randn(n, 5, generator=g), torch.randint(3, (n,), generator=g)) for n in (12, 12, 7)]


def run():
    master = build()
    parallel = HandParallel(master, 3)
    opt = torch.optim.AdamW(master.parameters(), lr=1e-2)
    shared = []
    for x, y in data():
        parallel.broadcast()
        parallel.backward(x, y)
        opt.step()
        shared.append(
            all(
                p.grad.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
                for r, b in zip(parallel.replicas, parallel.buckets)
                for p in r.parameters()
            )
        )
        parallel.zero()
    parallel.broadcast()
    return master, parallel, shared


def verify(outcome):
    master, parallel, shared = outcome
    plain = build()
    start = [p.detach().clone() for p in plain.parameters()]
    opt = torch.optim.AdamW(plain.parameters(), lr=1e-2)
    for x, y in data():
        opt.zero_grad()
        F.cross_entropy(plain(x), y).backward()
        opt.step()
    assert all(shared)
    for a, b, s in zip(master.parameters(), plain.parameters(), start):
        assert torch.allclose(a, b, atol=1e-5) and not torch.equal(a, s)
    for r in parallel.replicas:
        assert all(torch.equal(a, b) for a, b in zip(r.parameters(), master.parameters()))


TRUTH = Truth()
