"""Vision: layers are frozen, then thawed stage by stage with their own parameter groups (healthy)."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Config:
    dim: int = 12
    depth: int = 3
    heads: int = 2
    classes: int = 4
    lr: float = 1e-2
    layer_decay: float = 0.5
    epochs: int = 3
    batches: int = 2


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.qkv, self.proj = heads, nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        B, N, C = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        return self.proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(B, N, C))


class LayerScale(nn.Module):
    def __init__(self, dim, init=0.1):
        super().__init__()
        self.gamma = nn.Parameter(init * torch.ones(dim))

    def forward(self, x):
        return x.mul_(self.gamma) if not torch.is_grad_enabled() else x * self.gamma


class Block(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(cfg.dim), nn.LayerNorm(cfg.dim)
        self.attn, self.ls1, self.ls2 = Attention(cfg.dim, cfg.heads), LayerScale(cfg.dim), LayerScale(cfg.dim)
        self.mlp = nn.Sequential(nn.Linear(cfg.dim, 2 * cfg.dim), nn.GELU(), nn.Linear(2 * cfg.dim, cfg.dim))

    def forward(self, x):
        x = x + self.ls1(self.attn(self.norm1(x)))
        return x + self.ls2(self.mlp(self.norm2(x)))


class VisionTransformer(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, cfg.dim, 4, 4)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, cfg.dim))
        self.pos_embed = nn.Parameter(torch.randn(1, 10, cfg.dim) * 0.02)
        self.blocks = nn.ModuleList(Block(cfg) for _ in range(cfg.depth))
        self.norm, self.head = nn.LayerNorm(cfg.dim), nn.Linear(cfg.dim, cfg.classes)

    def forward(self, x):
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], dim=1)
        x += self.pos_embed
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


class GradualUnfreezer:
    """Epoch 0: the head; each further epoch: one block more, from the top."""

    def __init__(self, model, cfg):
        self.model, self.cfg = model, cfg
        model.requires_grad_(False)
        model.head.requires_grad_(True)
        model.norm.requires_grad_(True)
        params = [p for p in model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(params, lr=cfg.lr, weight_decay=0.05)

    def on_epoch(self, epoch):
        if epoch == 0:
            return
        block = self.model.blocks[-epoch]
        block.requires_grad_(True)
        rate = self.cfg.lr * self.cfg.layer_decay**epoch
        self.optimizer.add_param_group({"params": list(block.parameters()), "lr": rate})


@torch.no_grad()
def validate(model, x, y):
    model.eval()
    acc = (model(x).argmax(1) == y).float().mean().item()
    model.train()
    return acc


def run():
    torch.manual_seed(0)
    cfg = Config()
    model = VisionTransformer(cfg)
    unfreezer = GradualUnfreezer(model, cfg)
    x, y = torch.randn(32, 3, 12, 12), torch.randint(cfg.classes, (32,))
    moved = []
    for epoch in range(cfg.epochs):
        unfreezer.on_epoch(epoch)
        before = {n: p.detach().clone() for n, p in model.named_parameters()}
        for b in torch.randperm(32).chunk(cfg.batches):
            loss = F.cross_entropy(model(x[b]), y[b], label_smoothing=0.1)
            unfreezer.optimizer.zero_grad()
            loss.backward()
            unfreezer.optimizer.step()
        validate(model, x, y)
        moved.append({n for n, p in model.named_parameters() if not torch.equal(p, before[n])})
    return moved, [n for n, _ in model.named_parameters()]


def verify(outcome):
    moved, names = outcome
    for epoch, now in enumerate(moved):
        stages = ("head", "norm.", *(f"blocks.{3 - e}." for e in range(1, epoch + 1)))
        assert now == {n for n in names if n.startswith(stages)}


TRUTH = Truth()
