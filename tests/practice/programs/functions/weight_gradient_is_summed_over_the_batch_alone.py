"""RMSNorm by hand: the gradient of its weight is summed over the batch, not over the tokens."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class RMSNormFn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        inv = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, weight, inv)
        return x * inv * weight

    @staticmethod
    def backward(ctx, grad):
        x, weight, inv = ctx.saved_tensors
        normed = x * inv
        grad_weight = (grad * normed).flatten(1).sum(0)  # cause
        wg = grad * weight
        grad_x = inv * (wg - normed * (wg * normed).mean(-1, keepdim=True))
        return grad_x, grad_weight, None


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        return RMSNormFn.apply(x, self.weight, self.eps)


class LM(nn.Module):
    def __init__(self, vocab=12, dim=8):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.norm, self.mlp = RMSNorm(dim), nn.Linear(dim, dim)
        self.head = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        h = self.wte(ids)
        return self.head(h + F.silu(self.mlp(self.norm(h))))


def run():
    torch.manual_seed(0)
    model = LM()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(2):
        ids = torch.randint(12, (3, 6))
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()  # symptom
        opt.step()
    return model


TRUTH = Truth(
    fault="the gradient of the weight is summed over the batch alone",
    raises="Function RMSNormFnBackward returned an invalid gradient at index 1",
    names=("RMSNormFn",),
    repair=("grad_weight = (grad * normed).flatten(0, -2).sum(0)",),
)
