"""MAE: the mask token is a plain tensor, not a Parameter, so the optimizer never gets it."""

import torch
from torch import nn

from tests.practice.truth import Truth


class MAE(nn.Module):
    def __init__(self, patch=4, dim=16, dec_dim=8, n=16, mask_ratio=0.75):
        super().__init__()
        self.patch, self.keep = patch, int(n * (1 - mask_ratio))
        self.patch_embed = nn.Linear(3 * patch * patch, dim)
        self.pos_embed = nn.Parameter(0.02 * torch.randn(1, n, dim))
        self.encoder = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True, norm_first=True)
        self.decoder_embed = nn.Linear(dim, dec_dim)
        self.mask_token = torch.zeros(1, 1, dec_dim, requires_grad=True)  # cause
        self.decoder_pos_embed = nn.Parameter(0.02 * torch.randn(1, n, dec_dim), requires_grad=False)
        self.decoder = nn.TransformerEncoderLayer(dec_dim, 2, 16, dropout=0.0, batch_first=True, norm_first=True)
        self.decoder_pred = nn.Linear(dec_dim, 3 * patch * patch)

    def patchify(self, imgs):
        return nn.functional.unfold(imgs, self.patch, stride=self.patch).transpose(1, 2)

    def random_masking(self, x):
        order = torch.rand(x.shape[:2]).argsort(1)
        restore = order.argsort(1)
        kept = x.gather(1, order[:, : self.keep, None].expand(-1, -1, x.shape[2]))
        mask = torch.ones(x.shape[:2])
        mask[:, : self.keep] = 0
        return kept, mask.gather(1, restore), restore

    def forward(self, imgs):
        target = self.patchify(imgs)
        x, mask, restore = self.random_masking(self.patch_embed(target) + self.pos_embed)
        x = self.decoder_embed(self.encoder(x))
        tokens = self.mask_token.expand(len(x), restore.shape[1] - x.shape[1], -1)
        x = torch.cat([x, tokens], 1)
        x = x.gather(1, restore[..., None].expand(-1, -1, x.shape[2]))
        pred = self.decoder_pred(self.decoder(x + self.decoder_pos_embed))
        return ((pred - target).pow(2).mean(-1) * mask).sum() / mask.sum()


def run():
    torch.manual_seed(0)
    model = MAE()
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1.5e-4, betas=(0.9, 0.95))
    for step in range(3):
        loss = model(torch.randn(2, 3, 16, 16))
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"{step}: {loss.item():.4f}")
    return model


def verify(model):
    assert model.mask_token.abs().sum() == 0 and model.mask_token.grad is not None


TRUTH = Truth(
    fault="the mask token is not registered and never trained",
    names=("mask_token",),
    repair=("self.mask_token = nn.Parameter(torch.zeros(1, 1, dec_dim))",),
)
