"""A small transformer sharded with fully_shard, its matrices trained by Muon, the rest by AdamW."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import fully_shard

from tests.distributed.truth import Truth


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 2 * dim, bias=False)
        self.down = nn.Linear(2 * dim, dim, bias=False)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class LM(nn.Module):
    def __init__(self, vocab=16, dim=8, depth=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.blocks = nn.Sequential(*(Block(dim) for _ in range(depth)))
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.head(self.blocks(self.embed(ids)))


def newton_schulz(g, steps=5):
    a, b, c = 3.4445, -4.7750, 2.0315
    x = g / (g.norm() + 1e-7)
    tall = x.size(0) > x.size(1)
    x = x.T if tall else x
    for _ in range(steps):
        s = x @ x.T
        x = a * x + (b * s + c * s @ s) @ x
    return x.T if tall else x


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr=0.02, momentum=0.95):
        super().__init__(params, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                buf = self.state[p].setdefault("momentum_buffer", torch.zeros_like(p))
                buf.mul_(group["momentum"]).add_(p.grad)
                update = p.grad.add(buf, alpha=group["momentum"])
                update = newton_schulz(update.to_local())  # cause
                p.to_local().add_(update, alpha=-group["lr"])  # also


def setup():
    global model, opts, g
    torch.manual_seed(0)
    model = LM()
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    matrices = [p for n, p in model.named_parameters() if "blocks" in n and p.ndim == 2]
    rest = [p for n, p in model.named_parameters() if "blocks" not in n or p.ndim < 2]
    opts = [Muon(matrices), torch.optim.AdamW(rest, lr=1e-2)]
    g = torch.Generator().manual_seed(dist.get_rank())


def run():
    for _ in range(3):
        ids = torch.randint(0, 16, (4, 9), generator=g)
        F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()).backward()
        for opt in opts:
            opt.step()
            opt.zero_grad()
    return round(model.blocks[0].up.weight.full_tensor().norm().item(), 5)


TRUTH = Truth(
    fault="each rank orthogonalises the part of the matrix that it has, not the matrix",
    rule="AG601",
    names=("up.weight", "to_local"),
    values=True,
    where="any",
)
