"""A monitor hooks the backward of each sublayer; the residual is added in place into what such a sublayer returns."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        return self.proj(F.scaled_dot_product_attention(q, k, v, is_causal=True))


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm, self.attn = nn.LayerNorm(dim), Attention(dim)
        self.mlp = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        h = self.attn(self.norm(x))
        h += x  # cause
        return h + self.mlp(h)


class Monitor:
    def __init__(self, model):
        self.norms = {}
        for name, module in model.named_modules():
            if isinstance(module, Attention):
                module.register_full_backward_hook(self.hook(name))  # also

    def hook(self, name):
        def keep(module, grad_input, grad_output):
            self.norms[name] = grad_output[0].norm().item()

        return keep


def run():
    torch.manual_seed(0)
    wte, head = nn.Embedding(12, 8), nn.Linear(8, 12)
    model = nn.Sequential(wte, Block(8), Block(8), head)
    monitor = Monitor(model)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(2):
        ids = torch.randint(12, (3, 6))
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
    return monitor.norms


TRUTH = Truth(
    fault="the output of a module with a backward hook is a view that may not change in place",
    raises="Output 0 of BackwardHookFunction is a view and is being modified inplace",
    names=("attn",),
    repair=("h = h + x",),
)
