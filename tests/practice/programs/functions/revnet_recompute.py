"""Custom functions: a reversible network that frees its activations and rebuilds them in backward, with RNG state replayed; healthy."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Deterministic(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.cpu_state = None

    def forward(self, *args, record_rng=False, set_rng=False):
        if record_rng:
            self.cpu_state = torch.get_rng_state()
        if not set_rng:
            return self.net(*args)
        with torch.random.fork_rng(devices=[], enabled=True):
            torch.set_rng_state(self.cpu_state)
            return self.net(*args)


class ReversibleBlock(nn.Module):
    def __init__(self, f, g):
        super().__init__()
        self.f, self.g = Deterministic(f), Deterministic(g)

    def forward(self, x):
        x1, x2 = torch.chunk(x, 2, dim=2)
        with torch.no_grad():
            y1 = x1 + self.f(x2, record_rng=self.training)
            y2 = x2 + self.g(y1, record_rng=self.training)
        return torch.cat([y1, y2], dim=2)

    def backward_pass(self, y, dy):
        y1, y2 = torch.chunk(y, 2, dim=2)
        del y
        dy1, dy2 = torch.chunk(dy, 2, dim=2)
        del dy
        with torch.enable_grad():
            y1.requires_grad = True
            gy1 = self.g(y1, set_rng=True)
            torch.autograd.backward(gy1, dy2)
        with torch.no_grad():
            x2 = y2 - gy1
            del y2, gy1
            dx1 = dy1 + y1.grad
            del dy1
            y1.grad = None
        with torch.enable_grad():
            x2.requires_grad = True
            fx2 = self.f(x2, set_rng=True)
            torch.autograd.backward(fx2, dx1)
        with torch.no_grad():
            x1 = y1 - fx2
            del y1, fx2
            dx2 = dy2 + x2.grad
            x2.grad = None
            x = torch.cat([x1, x2.detach()], dim=2)
            dx = torch.cat([dx1, dx2], dim=2)
        return x, dx


class _ReversibleFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, blocks):
        for block in blocks:
            x = block(x)
        ctx.y, ctx.blocks = x.detach(), blocks
        return x

    @staticmethod
    def backward(ctx, dy):
        y = ctx.y
        for block in ctx.blocks[::-1]:
            y, dy = block.backward_pass(y, dy)
        return dy, None


class Reformer(nn.Module):
    def __init__(self, vocab=20, dim=8, depth=2):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        ff = lambda: nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(), nn.Dropout(0.2), nn.Linear(2 * dim, dim))
        self.blocks = nn.ModuleList(ReversibleBlock(ff(), ff()) for _ in range(depth))
        self.out = nn.Linear(dim, vocab)

    def forward(self, ids, reversible=True):
        x = self.emb(ids)
        x = torch.cat([x, x], dim=-1)
        if reversible:
            x = _ReversibleFunction.apply(x, self.blocks)
        else:
            for b in self.blocks:
                x1, x2 = x.chunk(2, dim=2)
                x1 = x1 + b.f(x2)
                x = torch.cat([x1, x2 + b.g(x1)], dim=2)
        return self.out(torch.stack(x.chunk(2, dim=-1)).mean(0))


def run():
    torch.manual_seed(0)
    model = Reformer()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(3):
        ids = torch.randint(0, 20, (4, 7))
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
    grads = []
    for reversible in (True, False):
        torch.manual_seed(5)
        opt.zero_grad()
        F.cross_entropy(model(ids[:, :-1], reversible).flatten(0, 1), ids[:, 1:].flatten()).backward()
        grads.append([p.grad.clone() for p in model.parameters()])
    return grads


def verify(grads):
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(*grads))


TRUTH = Truth()
