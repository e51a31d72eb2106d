"""checkpoint() around blocks that are compiled each."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.compiled.backend import BACKEND

HEALTHY = True


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.o = nn.Linear(8, 24), nn.Linear(8, 8)
        self.register_buffer("mask", torch.tril(torch.ones(5, 5, dtype=torch.bool)))

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        return x + self.o(F.scaled_dot_product_attention(q, k, v, attn_mask=self.mask))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(11, 8)
        self.blocks = nn.ModuleList(Block() for _ in range(3))
        self.head = nn.Linear(8, 11, bias=False)
        self.head.weight = self.emb.weight

    def forward(self, ids):
        x = self.emb(ids)
        for b in self.blocks:
            x = checkpoint(b, x, use_reentrant=False)
        return self.head(x)


def setup():
    global net, opt, ids
    torch.manual_seed(0)
    net = Net()
    for b in net.blocks:
        b.compile(backend=BACKEND)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    ids = torch.randint(0, 11, (2, 5))


def run():
    for _ in range(2):
        opt.zero_grad()
        F.cross_entropy(net(ids).flatten(0, 1), ids.flatten()).backward()
        opt.step()
