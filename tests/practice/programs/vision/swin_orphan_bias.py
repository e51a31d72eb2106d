"""Vision: nn.Parameter(...) * 0.02 is no parameter but a product; its graph of construction time is freed by the first backward."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def relative_index(w):
    coords = torch.stack(torch.meshgrid(torch.arange(w), torch.arange(w), indexing="ij")).flatten(1)
    rel = (coords[:, :, None] - coords[:, None, :]).permute(1, 2, 0) + w - 1
    return rel[..., 0] * (2 * w - 1) + rel[..., 1]


def window_partition(x, w):
    B, H, W, C = x.shape
    return x.view(B, H // w, w, W // w, w, C).permute(0, 1, 3, 2, 4, 5).reshape(-1, w * w, C)


def window_reverse(windows, w, H, W):
    B = windows.size(0) // (H * W // w // w)
    return windows.view(B, H // w, W // w, w, w, -1).permute(0, 1, 3, 2, 4, 5).reshape(B, H, W, -1)


class WindowAttention(nn.Module):
    def __init__(self, dim, window, heads):
        super().__init__()
        self.window, self.heads = window, heads
        self.relative_position_bias_table = nn.Parameter(torch.randn((2 * window - 1) ** 2, heads)) * 0.02  # cause
        self.register_buffer("relative_position_index", relative_index(window))
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        attn = q @ k.transpose(-2, -1) * q.size(-1) ** -0.5
        n = self.window**2
        bias = self.relative_position_bias_table[self.relative_position_index.view(-1)].view(n, n, -1)
        attn = (attn + bias.permute(2, 0, 1).unsqueeze(0)).softmax(-1)
        return self.proj((attn @ v).transpose(1, 2).flatten(2))


class SwinBlock(nn.Module):
    def __init__(self, dim, window, heads, shift):
        super().__init__()
        self.window, self.shift = window, shift
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = WindowAttention(dim, window, heads)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        B, H, W, C = x.shape
        h = torch.roll(self.norm1(x), (-self.shift, -self.shift), (1, 2))
        h = window_reverse(self.attn(window_partition(h, self.window)), self.window, H, W)
        x = x + torch.roll(h, (self.shift, self.shift), (1, 2))
        return x + self.mlp(self.norm2(x))


class Swin(nn.Module):
    def __init__(self, dim=12, window=2, classes=4):
        super().__init__()
        self.embed = nn.Conv2d(3, dim, 2, 2)
        self.blocks = nn.ModuleList(SwinBlock(dim, window, 2, shift=i % 2) for i in range(2))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, classes)

    def forward(self, x):
        x = self.embed(x).permute(0, 2, 3, 1)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x).mean((1, 2)))


def run():
    torch.manual_seed(0)
    model = Swin()
    skip = ("relative_position_bias_table", "norm", "bias")
    named = list(model.named_parameters())
    optimizer = torch.optim.AdamW(
        [
            {"params": [p for n, p in named if any(s in n for s in skip)], "weight_decay": 0.0},
            {"params": [p for n, p in named if not any(s in n for s in skip)], "weight_decay": 0.05},
        ],
        lr=1e-3,
    )
    table = model.blocks[0].attn.relative_position_bias_table
    before = table.detach().clone()
    for _ in range(3):
        loss = F.cross_entropy(model(torch.rand(6, 3, 8, 8)), torch.randint(0, 4, (6,)))
        optimizer.zero_grad()
        loss.backward()  # symptom
        optimizer.step()
    return before, table.detach(), "blocks.0.attn.relative_position_bias_table" in model.state_dict()


TRUTH = Truth(
    fault="the bias table is a product of a parameter, it is in no optimizer and no checkpoint",
    raises="Trying to backward through the graph a second time",
    names=("relative_position_bias_table",),
    repair=("self.relative_position_bias_table = nn.Parameter(torch.randn((2 * window - 1) ** 2, heads) * 0.02)",),
)
