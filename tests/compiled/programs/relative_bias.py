"""Vision transformer: window attention with a learned relative position table, compiled as a whole."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the bias is gathered from the learned table under no_grad, so the table gets no gradient and never trains",
    names=("table", "no_grad", "bias"),
    repair=("with torch.enable_grad():",),
)


class WindowAttention(nn.Module):
    def __init__(self, width, heads, side):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.table = nn.Parameter(torch.randn((2 * side - 1) ** 2, heads) * 0.02)
        cells = torch.stack(torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij"), -1).view(-1, 2)
        offset = cells[:, None] - cells[None] + side - 1
        self.register_buffer("index", offset[..., 0] * (2 * side - 1) + offset[..., 1])

    def bias(self):
        with torch.no_grad():  # cause
            return self.table[self.index].permute(2, 0, 1)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=self.bias())
        return self.out(mixed.transpose(1, 2).reshape(b, n, c))


def setup():
    torch.manual_seed(0)


def run():
    attention, head = WindowAttention(8, 2, 3), nn.Linear(8, 4)
    model = torch.compile(nn.Sequential(nn.LayerNorm(8), attention), backend=BACKEND)
    optimizer = torch.optim.Adam([*attention.parameters(), *head.parameters()], lr=1e-2)
    before = attention.table.detach().clone()
    for _ in range(3):
        loss = nn.functional.cross_entropy(head(model(torch.randn(4, 9, 8)).mean(1)), torch.randint(4, (4,)))
        optimizer.zero_grad()
        loss.backward()  # symptom
        optimizer.step()
    return attention.table.grad, before, attention.table.detach(), attention.qkv.weight.grad


def verify(outcome):
    grad, before, after, other = outcome
    assert grad is None
    assert torch.equal(before, after)
    assert other.abs().sum() > 0
