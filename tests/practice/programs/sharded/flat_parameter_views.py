"""FSDP-like flat parameter by hand: module weights are plain views of one flat Parameter, re-made before each forward."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class FlatModule(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.slots, tensors = [], []
        for owner in module.modules():
            for name, p in list(owner._parameters.items()):
                if p is not None:
                    self.slots.append((owner, name, p.shape, p.numel()))
                    tensors.append(p.detach().flatten())
                    del owner._parameters[name]
        self.flat = nn.Parameter(torch.cat(tensors))
        self.inner = [module]  # hidden from nn.Module on purpose

    def forward(self, *args):
        pieces = self.flat.split([n for *_, n in self.slots])
        for (owner, name, shape, _), piece in zip(self.slots, pieces):
            object.__setattr__(owner, name, piece.view(shape))
        try:
            return self.inner[0](*args)
        finally:
            for owner, name, *_ in self.slots:
                object.__delattr__(owner, name)


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 8), nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 3))


def batches():
    g = torch.Generator().manual_seed(6)
    return [(torch.randn(10, 5, generator=g), torch.randint(3, (10,), generator=g)) for _ in range(3)]


class ShardedAdam:
    """Each 'rank' owns a slice of the flat parameter and the state of that slice only."""

    def __init__(self, flat, world, **kwargs):
        self.flat, self.world = flat, world
        self.size = -(-flat.numel() // world)
        self.shards = [nn.Parameter(flat.detach()[r * self.size : (r + 1) * self.size].clone()) for r in range(world)]
        self.opts = [torch.optim.AdamW([s], **kwargs) for s in self.shards]

    def step(self):
        total = torch.linalg.vector_norm(self.flat.grad)
        self.flat.grad.mul_(torch.clamp(1.0 / (total + 1e-6), max=1.0))
        for r, (shard, opt) in enumerate(zip(self.shards, self.opts)):
            part = slice(r * self.size, (r + 1) * self.size)
            shard.grad = self.flat.grad[part]
            opt.step()
            with torch.no_grad():
                self.flat[part].copy_(shard)
            shard.grad = None
        self.flat.grad = None


def run():
    model = FlatModule(build())
    opt = ShardedAdam(model.flat, 3, lr=1e-2, weight_decay=0.1)
    start = model.flat.detach().clone()
    for x, y in batches():
        F.cross_entropy(model(x), y).backward()
        opt.step()
    return model, start


def verify(outcome):
    model, start = outcome
    plain = build()
    opt = torch.optim.AdamW(plain.parameters(), lr=1e-2, weight_decay=0.1)
    for x, y in batches():
        opt.zero_grad()
        F.cross_entropy(plain(x), y).backward()
        nn.utils.clip_grad_norm_(plain.parameters(), 1.0)
        opt.step()
    flat = torch.cat([p.detach().flatten() for p in plain.parameters()])
    assert torch.allclose(flat, model.flat, atol=1e-5) and not (start == model.flat).any()


TRUTH = Truth()
