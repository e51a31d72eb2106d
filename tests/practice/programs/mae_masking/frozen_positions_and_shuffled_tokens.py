"""MAE, and right: fixed sine positions (a Parameter that is never trained), random masking by argsort, targets under no_grad."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


def sincos(n, dim):
    pos = torch.arange(n).unsqueeze(1) / 100 ** (torch.arange(dim // 2) / (dim // 2))
    return torch.cat([pos.sin(), pos.cos()], 1).unsqueeze(0)


def block(dim):
    return nn.TransformerEncoderLayer(dim, 2, 2 * dim, dropout=0.0, batch_first=True, norm_first=True)


class MaskedAutoencoder(nn.Module):
    def __init__(self, image=16, patch=4, dim=16, dec=12, norm_pix_loss=True):
        super().__init__()
        n = (image // patch) ** 2
        self.patch, self.norm_pix_loss = patch, norm_pix_loss
        self.patch_embed = nn.Conv2d(1, dim, patch, patch)
        self.pos_embed = nn.Parameter(torch.zeros(1, n, dim), requires_grad=False)
        self.blocks = block(dim)
        self.decoder_embed = nn.Linear(dim, dec)
        self.mask_token = nn.Parameter(torch.zeros(1, 1, dec))
        self.decoder_pos_embed = nn.Parameter(torch.zeros(1, n, dec), requires_grad=False)
        self.decoder_blocks = block(dec)
        self.decoder_pred = nn.Linear(dec, patch * patch)
        self.pos_embed.data.copy_(sincos(n, dim))
        self.decoder_pos_embed.data.copy_(sincos(n, dec))
        nn.init.normal_(self.mask_token, std=0.02)

    def patchify(self, imgs):
        p = self.patch
        n, _, h, w = imgs.shape
        return imgs.view(n, h // p, p, w // p, p).permute(0, 1, 3, 2, 4).reshape(n, -1, p * p)

    def random_masking(self, x, ratio):
        n, length, d = x.shape
        keep = int(length * (1 - ratio))
        ids_shuffle = torch.rand(n, length).argsort(1)
        ids_restore = ids_shuffle.argsort(1)
        x = x.gather(1, ids_shuffle[:, :keep, None].expand(-1, -1, d))
        mask = torch.ones(n, length)
        mask[:, :keep] = 0
        return x, mask.gather(1, ids_restore), ids_restore

    def forward(self, imgs, ratio=0.75):
        x = self.patch_embed(imgs).flatten(2).transpose(1, 2) + self.pos_embed
        x, mask, ids_restore = self.random_masking(x, ratio)
        x = self.decoder_embed(self.blocks(x))
        fill = self.mask_token.expand(len(x), ids_restore.shape[1] - x.shape[1], -1)
        x = torch.cat([x, fill], 1).gather(1, ids_restore[..., None].expand(-1, -1, x.shape[-1]))
        pred = self.decoder_pred(self.decoder_blocks(x + self.decoder_pos_embed))
        with torch.no_grad():
            target = self.patchify(imgs)
            if self.norm_pix_loss:
                target = (target - target.mean(-1, keepdim=True)) / (target.var(-1, keepdim=True) + 1e-6).sqrt()
        loss = (pred - target).pow(2).mean(-1)
        return (loss * mask).sum() / mask.sum()


def run():
    torch.manual_seed(0)
    model = MaskedAutoencoder()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3, betas=(0.9, 0.95))
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    accum_iter = 2
    optimizer.zero_grad()
    for step in range(4):
        loss = model(torch.randn(4, 1, 16, 16)) / accum_iter
        loss.backward()
        if (step + 1) % accum_iter == 0:
            optimizer.step()
            optimizer.zero_grad()
    return {n: (p.detach() - start[n]).abs().max().item() for n, p in model.named_parameters()}


def verify(outcome):
    assert {n for n, v in outcome.items() if v == 0} == {"pos_embed", "decoder_pos_embed"}


TRUTH = Truth()
