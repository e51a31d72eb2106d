"""Lion with fused list operations and decoupled weight decay."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            ps = [p for p in group["params"] if p.grad is not None]
            if not ps:
                continue
            gs = [p.grad for p in ps]
            ms = [self.state[p].setdefault("m", torch.zeros_like(p)) for p in ps]
            b1, b2 = group["betas"]
            torch._foreach_mul_(ps, 1 - group["lr"] * group["weight_decay"])
            update = torch._foreach_lerp(gs, ms, b1)
            torch._foreach_sign_(update)
            torch._foreach_add_(ps, update, alpha=-group["lr"])
            torch._foreach_lerp_(ms, gs, 1 - b2)
        return loss


class Encoder(nn.Module):
    def __init__(self, vocab=25, dim=16):
        super().__init__()
        self.emb = nn.EmbeddingBag(vocab, dim, mode="mean")
        self.net = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, 3))

    def forward(self, ids):
        return self.net(self.emb(ids))


def run():
    torch.manual_seed(0)
    model = Encoder()
    start = [p.detach().clone() for p in model.parameters()]
    opt = Lion(model.parameters(), lr=1e-3, weight_decay=0.1)
    x, y = torch.randint(0, 25, (16, 7)), torch.randint(0, 3, (16,))

    def closure():
        opt.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        return loss

    return start, model, [opt.step(closure).item() for _ in range(10)]


TRUTH = Truth()


def verify(out):
    start, model, losses = out
    assert losses[-1] < losses[0]
    assert all(not torch.equal(a, b) for a, b in zip(start, model.parameters()))
