"""Textual inversion: the whole embedding table is optimised, then every row but the new token is put back after each step."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth

NEW = 11


class TextEncoder(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.token = nn.Embedding(vocab, 8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        self.final = nn.LayerNorm(8)

    def forward(self, ids):
        return self.final(self.layer(self.token(ids))).mean(1)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(14, 16), nn.SiLU(), nn.Linear(16, 6))

    def forward(self, x, cond):
        return self.net(torch.cat([x, cond], 1))


def prepare():
    torch.manual_seed(0)
    text, unet = TextEncoder(12), UNet()
    unet.requires_grad_(False).eval()
    text.layer.requires_grad_(False)
    text.final.requires_grad_(False)
    with torch.no_grad():
        text.token.weight[NEW] = text.token.weight[3]  # initialiser token
    return text, unet


def batches():
    g = torch.Generator().manual_seed(3)
    for _ in range(4):
        ids = torch.randint(11, (5, 4), generator=g)
        ids[:, 2] = NEW
        yield ids, torch.randn(5, 6, generator=g), torch.randn(5, 6, generator=g)


def run():
    text, unet = prepare()
    text.train()
    opt = torch.optim.AdamW(text.token.parameters(), lr=5e-2, weight_decay=1e-2)
    original = text.token.weight.detach().clone()
    keep = torch.arange(12) != NEW
    for ids, x, eps in batches():
        loss = F.mse_loss(unet(x + eps, text(ids)), eps)
        loss.backward()
        opt.step()
        opt.zero_grad()
        with torch.no_grad():
            text.token.weight[keep] = original[keep]
    return text, original, keep


def verify(outcome):
    text, original, keep = outcome
    assert torch.equal(text.token.weight[keep], original[keep]) and not torch.equal(
        text.token.weight[NEW], original[NEW]
    )
    again, unet = prepare()
    row = nn.Parameter(again.token.weight[NEW].detach().clone())  # the same with one vector as the only parameter
    opt = torch.optim.AdamW([row], lr=5e-2, weight_decay=1e-2)
    for ids, x, eps in batches():
        emb = original[ids].clone()
        emb[ids == NEW] = row
        cond = again.final(again.layer(emb)).mean(1)
        opt.zero_grad()
        F.mse_loss(unet(x + eps, cond), eps).backward()
        opt.step()
    assert torch.allclose(row, text.token.weight[NEW], atol=1e-5)


TRUTH = Truth()
