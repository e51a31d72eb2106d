"""Mini ViT: weight/bias parameter groups by name leave the class token and the position embedding out of the optimizer."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth

config = dict(img=8, patch=4, dim=16, heads=2, depth=2, classes=3, lr=1e-3, wd=0.05)


class PatchEmbed(nn.Module):
    def __init__(self, patch, dim):
        super().__init__()
        self.proj = nn.Conv2d(3, dim, patch, patch)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class MiniViT(nn.Module):
    def __init__(self, img, patch, dim, heads, depth, classes, **_):
        super().__init__()
        self.patch_embed = PatchEmbed(patch, dim)
        n = (img // patch) ** 2
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(torch.randn(1, n + 1, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, heads, dim * 2, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.patch_embed(x)
        x = torch.cat([self.cls_token.expand(x.size(0), -1, -1), x], 1) + self.pos_embed
        return self.head(self.norm(self.blocks(x))[:, 0])


def get_optimizer(model, lr, wd):
    decay, no_decay = [], []
    for name, p in model.named_parameters():
        if name.endswith("bias") or (p.ndim == 1 and name.endswith("weight")):
            no_decay.append(p)
        elif name.endswith("weight"):  # cause
            decay.append(p)
    groups = [{"params": decay, "weight_decay": wd}, {"params": no_decay, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=lr)  # also


def train_one_epoch(model, opt, data):
    model.train()
    for x, y in data:
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()


def run():
    torch.manual_seed(1)
    model = MiniViT(**config)
    opt = get_optimizer(model, config["lr"], config["wd"])
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    data = [(torch.randn(8, 3, 8, 8), torch.randint(0, 3, (8,))) for _ in range(3)]
    train_one_epoch(model, opt, data)
    same = sorted(n for n, p in model.named_parameters() if torch.equal(p, before[n]))
    return same


def verify(same):
    assert same == ["cls_token", "pos_embed"], same


TRUTH = Truth(
    fault="cls_token and pos_embed end neither in weight nor in bias, so they are in no group of the optimizer",
    names=("cls_token", "pos_embed"),
    repair=("else:",),
)
