"""MoCo v3: the patch projection stays random and frozen on purpose; a key encoder follows by a moving average."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class VisionTransformerMoCo(nn.Module):
    def __init__(self, dim=16, grid=4, mlp_dim=24, out=12, stop_grad_conv1=True):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, dim, 4, 4)
        self.pos_embed = nn.Parameter(self.sincos(grid, dim), requires_grad=False)
        self.cls_token = nn.Parameter(torch.randn(1, 1, dim) * 0.02)
        self.block = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True, norm_first=True)
        self.head = nn.Sequential(
            nn.Linear(dim, mlp_dim, bias=False),
            nn.BatchNorm1d(mlp_dim),
            nn.ReLU(inplace=True),
            nn.Linear(mlp_dim, out, bias=False),
            nn.BatchNorm1d(out, affine=False),
        )
        if stop_grad_conv1:
            self.patch_embed.weight.requires_grad = False
            self.patch_embed.bias.requires_grad = False

    @staticmethod
    def sincos(grid, dim):
        pos = torch.cartesian_prod(torch.arange(grid), torch.arange(grid)).float()
        omega = 1 / 10000 ** (torch.arange(dim // 4) / (dim / 4))
        parts = pos[:, :, None] * omega
        return torch.cat([parts.sin(), parts.cos()], -1).flatten(1)[None]

    def forward(self, x):
        x = self.patch_embed(x).flatten(2).transpose(1, 2) + self.pos_embed
        x = self.block(torch.cat([self.cls_token.expand(len(x), -1, -1), x], 1))
        return self.head(x[:, 0])


class MoCo(nn.Module):
    def __init__(self, T=0.2, out=12):
        super().__init__()
        self.T = T
        self.base_encoder, self.momentum_encoder = VisionTransformerMoCo(), VisionTransformerMoCo()
        self.predictor = nn.Sequential(nn.Linear(out, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, out))
        for param_b, param_m in zip(self.base_encoder.parameters(), self.momentum_encoder.parameters()):
            param_m.data.copy_(param_b.data)
            param_m.requires_grad = False

    @torch.no_grad()
    def _update_momentum_encoder(self, m):
        for param_b, param_m in zip(self.base_encoder.parameters(), self.momentum_encoder.parameters()):
            param_m.data = param_m.data * m + param_b.data * (1.0 - m)

    def contrastive_loss(self, q, k):
        logits = F.normalize(q, dim=1) @ F.normalize(k, dim=1).T / self.T
        return F.cross_entropy(logits, torch.arange(len(q))) * (2 * self.T)

    def forward(self, x1, x2, m):
        q1, q2 = self.predictor(self.base_encoder(x1)), self.predictor(self.base_encoder(x2))
        with torch.no_grad():
            self._update_momentum_encoder(m)
            k1, k2 = self.momentum_encoder(x1), self.momentum_encoder(x2)
        return self.contrastive_loss(q1, k2) + self.contrastive_loss(q2, k1)


def run():
    torch.manual_seed(0)
    model = MoCo()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    for step in range(4):
        x = torch.rand(6, 3, 16, 16)
        m = 1 - 0.5 * (1 + math.cos(math.pi * step / 4)) * 0.01
        loss = model(x + 0.1 * torch.randn_like(x), x.flip(-1), m)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {n for n, p in model.named_parameters() if torch.equal(p, start[n]) and not n.startswith("momentum")}


def verify(fixed):
    assert fixed == {"base_encoder.patch_embed.weight", "base_encoder.patch_embed.bias", "base_encoder.pos_embed"}


TRUTH = Truth()
