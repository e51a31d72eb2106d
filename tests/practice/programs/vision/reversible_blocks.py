"""Reversible residual blocks: backward rebuilds the inputs, runs a backward of its own and fills .grad by hand: healthy."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class ReversibleBlock(nn.Module):
    def __init__(self, f, g):
        super().__init__()
        self.f, self.g = f, g

    def forward(self, x):
        x1, x2 = x.chunk(2, dim=-1)
        y1 = x1 + self.f(x2)
        y2 = x2 + self.g(y1)
        return torch.cat([y1, y2], dim=-1)

    def backward_pass(self, y, dy):
        y1, y2 = y.chunk(2, dim=-1)
        dy1, dy2 = dy.chunk(2, dim=-1)
        with torch.enable_grad():
            y1 = y1.detach().requires_grad_()
            gy1 = self.g(y1)
            torch.autograd.backward(gy1, dy2)
        with torch.no_grad():
            x2 = y2 - gy1
            dx1 = dy1 + y1.grad
            y1.grad = None
        with torch.enable_grad():
            x2 = x2.requires_grad_()
            fx2 = self.f(x2)
            torch.autograd.backward(fx2, dx1)
        with torch.no_grad():
            x1 = y1 - fx2
            dx2 = dy2 + x2.grad
            x2.grad = None
        return torch.cat([x1, x2.detach()], -1), torch.cat([dx1, dx2], -1)


class ReversibleFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, blocks):
        for block in blocks:
            x = block(x)
        ctx.blocks = blocks
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, dy):
        (y,) = ctx.saved_tensors
        for block in reversed(ctx.blocks):
            y, dy = block.backward_pass(y, dy)
        return dy, None


def branch(dim):
    return nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))


class ReformerLike(nn.Module):
    def __init__(self, patch=12, dim=8, depth=3, classes=4):
        super().__init__()
        self.embed = nn.Linear(patch, dim)
        self.blocks = nn.ModuleList(ReversibleBlock(branch(dim), branch(dim)) for _ in range(depth))
        self.head = nn.Linear(dim, classes)

    def forward(self, x, reversible=True):
        h = self.embed(x)
        h = torch.cat([h, h], -1)
        if reversible:
            h = ReversibleFunction.apply(h, self.blocks)
        else:
            for block in self.blocks:
                h = block(h)
        return self.head(sum(h.chunk(2, -1)) / 2).mean(1)


def run():
    torch.manual_seed(0)
    model = ReformerLike()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    before = [p.detach().clone() for p in model.parameters()]
    agree = []
    for _ in range(3):
        x, y = torch.randn(4, 6, 12), torch.randint(0, 4, (4,))
        expected = torch.autograd.grad(F.cross_entropy(model(x, reversible=False), y), list(model.parameters()))
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        agree.append(all(torch.allclose(p.grad, g, rtol=1e-3, atol=1e-5) for p, g in zip(model.parameters(), expected)))
        optimizer.step()
    return agree, before, [p.detach() for p in model.parameters()]


def verify(outcome):
    agree, before, after = outcome
    assert all(agree) and all(not torch.equal(b, a) for b, a in zip(before, after))


TRUTH = Truth()
