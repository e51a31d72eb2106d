"""MeZO: zeroth-order fine-tuning in inference mode; noise is regenerated from a seed and weights are perturbed in place."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth

EPS, LR = 1e-3, 1e-2


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.EmbeddingBag(20, 8)
        self.head = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 3))

    def forward(self, ids):
        return self.head(self.embed(ids))


class MeZO:
    def __init__(self, model, lr):
        self.model, self.lr = model, lr

    def perturb(self, seed, scale):
        generator = torch.Generator().manual_seed(seed)
        for p in self.model.parameters():
            p.data.add_(torch.randn(p.shape, generator=generator, dtype=p.dtype), alpha=scale)

    @torch.no_grad()
    def step(self, closure):
        seed = int(torch.randint(2**31, ()))
        self.perturb(seed, EPS)
        up = closure()
        self.perturb(seed, -2 * EPS)
        down = closure()
        self.perturb(seed, EPS)
        projected = ((up - down) / (2 * EPS)).item()
        self.perturb(seed, -self.lr * projected)
        return seed, projected


def run():
    torch.manual_seed(0)
    model = Classifier().double()
    opt = MeZO(model, LR)
    trail = []
    for _ in range(4):
        ids, y = torch.randint(20, (8, 5)), torch.randint(3, (8,))
        before = [p.detach().clone() for p in model.parameters()]
        seed, projected = opt.step(lambda: F.cross_entropy(model(ids), y))
        trail.append((before, ids, y, seed, projected, [p.detach().clone() for p in model.parameters()]))
    return trail, [p.grad for p in model.parameters()]


def verify(outcome):
    trail, grads = outcome
    assert all(g is None for g in grads)
    model = Classifier().double()
    for before, ids, y, seed, projected, after in trail:
        with torch.no_grad():
            for p, b in zip(model.parameters(), before):
                p.copy_(b)
        exact = torch.autograd.grad(F.cross_entropy(model(ids), y), list(model.parameters()))
        generator = torch.Generator().manual_seed(seed)
        noise = [torch.randn(p.shape, generator=generator, dtype=p.dtype) for p in model.parameters()]
        slope = sum((g * z).sum() for g, z in zip(exact, noise)).item()
        assert abs(slope - projected) < 1e-3 * max(1, abs(slope))
        for b, z, a in zip(before, noise, after):
            assert torch.allclose(b - LR * projected * z, a, atol=1e-10) and not torch.equal(a, b)


TRUTH = Truth()
