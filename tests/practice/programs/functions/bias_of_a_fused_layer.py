"""A fused bias + activation Function returns the two gradients in the wrong order: the bias's first."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class FusedBiasGELU(torch.autograd.Function):
    """tanh-GELU of x + bias; keeps only the input."""

    @staticmethod
    def forward(ctx, x, bias):
        ctx.save_for_backward(x, bias)
        h = x + bias
        return 0.5 * h * (1 + torch.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * h**3)))

    @staticmethod
    def backward(ctx, grad):
        x, bias = ctx.saved_tensors
        h = x + bias
        inner = math.sqrt(2 / math.pi) * (h + 0.044715 * h**3)
        t = torch.tanh(inner)
        d_inner = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * h**2)
        grad_h = grad * (0.5 * (1 + t) + 0.5 * h * (1 - t**2) * d_inner)
        grad_bias = grad_h.sum(dim=tuple(range(grad_h.ndim - 1)))
        return grad_bias, grad_h  # cause


class FusedMLP(nn.Module):
    def __init__(self, dim, mult=2):
        super().__init__()
        self.up = nn.Linear(dim, mult * dim, bias=False)
        self.up_bias = nn.Parameter(torch.zeros(mult * dim))
        self.down = nn.Linear(mult * dim, dim)

    def forward(self, x):
        return self.down(FusedBiasGELU.apply(self.up(x), self.up_bias))


class Encoder(nn.Module):
    def __init__(self, vocab=25, dim=8):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.attn = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.mlp = FusedMLP(dim)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.emb(ids)
        h = self.n1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return self.head(x + self.mlp(self.n2(x)))


def run():
    torch.manual_seed(0)
    model = Encoder()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(2):
        ids = torch.randint(1, 25, (4, 6))
        masked = torch.where(torch.rand(4, 6) < 0.3, 0, ids)
        masked[:, 0] = 0
        logits = model(masked)
        loss = F.cross_entropy(logits[masked == 0], ids[masked == 0])
        opt.zero_grad()
        loss.backward()  # symptom
        opt.step()
        print(f"step {step} loss {loss.item():.4f}")
    return model


TRUTH = Truth(
    fault="a Function returns its gradients in another order than its inputs",
    raises="Function FusedBiasGELUBackward returned an invalid gradient at index 0",
    names=("FusedBiasGELU",),
    repair=("return grad_h, grad_bias",),
)
