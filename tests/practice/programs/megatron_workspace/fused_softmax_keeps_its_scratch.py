"""Megatron-like fused softmax: the probabilities for backward lie in a workspace which the next layer overwrites."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Workspace:
    """One scratch tensor per shape, so that the long sequence allocates only once."""

    def __init__(self):
        self.tensors = {}

    def get(self, like):
        key = tuple(like.shape)
        if key not in self.tensors:
            self.tensors[key] = torch.empty(like.shape)
        return self.tensors[key]


WORKSPACE = Workspace()


class ScaledMaskedSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, mask, scale):
        probs = WORKSPACE.get(scores)
        torch.softmax((scores * scale).masked_fill(mask, -1e4), -1, out=probs)  # also
        ctx.probs, ctx.scale = probs, scale  # cause
        return probs.clone()

    @staticmethod
    def backward(ctx, grad):
        p = ctx.probs
        return ctx.scale * p * (grad - (grad * p).sum(-1, keepdim=True)), None, None


class ParallelAttention(nn.Module):
    def __init__(self, dim, heads, fused=True):
        super().__init__()
        self.heads, self.fused = heads, fused
        self.query_key_value = nn.Linear(dim, 3 * dim)
        self.dense = nn.Linear(dim, dim)

    def forward(self, x, mask):
        b, s, d = x.shape
        q, k, v = (t.view(b, s, self.heads, -1).transpose(1, 2) for t in self.query_key_value(x).chunk(3, -1))
        scores, scale = q @ k.transpose(-1, -2), (d // self.heads) ** -0.5
        if self.fused:
            probs = ScaledMaskedSoftmax.apply(scores, mask, scale)
        else:
            probs = (scores * scale).masked_fill(mask, -1e4).softmax(-1)
        return self.dense((probs @ v).transpose(1, 2).reshape(b, s, d))


class ParallelTransformer(nn.Module):
    def __init__(self, dim=16, heads=2, layers=2):
        super().__init__()
        self.layers = nn.ModuleList(ParallelAttention(dim, heads) for _ in range(layers))
        self.head = nn.Linear(dim, 4)

    def forward(self, x):
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        for layer in self.layers:
            x = x + layer(x, mask)
        return self.head(x[:, -1])


def set_fused(model, fused):
    for layer in model.layers:
        layer.fused = fused


def run():
    torch.manual_seed(0)
    model = ParallelTransformer()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    errors = []
    for _ in range(3):
        x, y = 2 * torch.randn(4, 6, 16), torch.randint(0, 4, (4,))
        weights = [layer.query_key_value.weight for layer in model.layers]
        set_fused(model, False)
        exact = torch.autograd.grad(F.cross_entropy(model(x), y), weights)
        set_fused(model, True)
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        errors.append([((w.grad - e).norm() / e.norm()).item() for w, e in zip(weights, exact)])
        optimizer.step()
    return errors


def verify(outcome):
    for first, last in outcome:
        assert first > 1e-2 and last < 1e-4


TRUTH = Truth(
    fault="ctx.probs is shared scratch memory: when layer 0 runs backward it holds layer 1's probabilities",
    names=("ScaledMaskedSoftmax",),
    repair=("ctx.probs, ctx.scale = probs.clone(), scale",),
)
