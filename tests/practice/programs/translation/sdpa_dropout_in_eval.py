"""Translation: scaled_dot_product_attention gets dropout_p always, so model.eval() does not end the dropout."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class SelfAttention(nn.Module):
    def __init__(self, dim, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout)  # cause
        return self.proj(y.transpose(1, 2).reshape(b, t, d))


class Block(nn.Module):
    def __init__(self, dim, heads=2, dropout=0.2):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = SelfAttention(dim, heads, dropout)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Dropout(dropout), nn.Linear(2 * dim, dim))

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Translator(nn.Module):
    def __init__(self, source=15, target=13, dim=16):
        super().__init__()
        self.embed = nn.Embedding(source, dim)
        self.blocks = nn.Sequential(Block(dim), Block(dim))
        self.out = nn.Linear(dim, target)

    def forward(self, ids):
        return self.out(self.blocks(self.embed(ids)))


@torch.no_grad()
def evaluate(model, ids, target):
    model.eval()
    loss = F.cross_entropy(model(ids).flatten(0, 1), target.flatten()).item()
    model.train()
    return loss


def run():
    torch.manual_seed(0)
    model = Translator()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    ids, target = torch.randint(15, (8, 6)), torch.randint(13, (8, 6))
    for _ in range(3):
        loss = F.cross_entropy(model(ids).flatten(0, 1), target.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return evaluate(model, ids, target), evaluate(model, ids, target)


def verify(outcome):
    first, second = outcome
    assert first != second


TRUTH = Truth(
    fault="the attention drops in evaluation too: dropout_p does not look at self.training",
    names=("scaled_dot_product_attention", "dropout_p"),
    repair=("y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout if self.training else 0.0)",),
)
