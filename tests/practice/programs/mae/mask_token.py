"""MAE: the mask token is taken through .data and never learns."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attn(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class MaskedAutoencoderViT(nn.Module):
    def __init__(self, patches=16, patch_dim=12, dim=16, decoder_dim=8):
        super().__init__()
        self.patch_embed = nn.Linear(patch_dim, dim)
        self.pos_embed = nn.Parameter(torch.zeros(1, patches, dim), requires_grad=False)
        self.blocks = nn.ModuleList([Block(dim, 2) for _ in range(2)])
        self.norm = nn.LayerNorm(dim)
        self.decoder_embed = nn.Linear(dim, decoder_dim)
        self.mask_token = nn.Parameter(torch.zeros(1, 1, decoder_dim))
        self.decoder_pos_embed = nn.Parameter(torch.zeros(1, patches, decoder_dim), requires_grad=False)
        self.decoder_blocks = nn.ModuleList([Block(decoder_dim, 2)])
        self.decoder_pred = nn.Linear(decoder_dim, patch_dim)
        self.initialize_weights()

    def initialize_weights(self):
        self.pos_embed.data.normal_(std=0.5)
        self.decoder_pos_embed.data.normal_(std=0.5)
        nn.init.normal_(self.mask_token, std=0.02)

    def random_masking(self, x, mask_ratio):
        n, length, d = x.shape
        keep = int(length * (1 - mask_ratio))
        ids_shuffle = torch.rand(n, length).argsort(dim=1)
        ids_restore = ids_shuffle.argsort(dim=1)
        x = torch.gather(x, 1, ids_shuffle[:, :keep].unsqueeze(-1).repeat(1, 1, d))
        mask = torch.ones(n, length)
        mask[:, :keep] = 0
        return x, torch.gather(mask, 1, ids_restore), ids_restore

    def forward_encoder(self, x, mask_ratio):
        x = self.patch_embed(x) + self.pos_embed
        x, mask, ids_restore = self.random_masking(x, mask_ratio)
        for blk in self.blocks:
            x = blk(x)
        return self.norm(x), mask, ids_restore

    def forward_decoder(self, x, ids_restore):
        x = self.decoder_embed(x)
        mask_tokens = self.mask_token.data.repeat(x.shape[0], ids_restore.shape[1] - x.shape[1], 1)  # cause
        x = torch.cat([x, mask_tokens], dim=1)
        x = torch.gather(x, 1, ids_restore.unsqueeze(-1).repeat(1, 1, x.shape[2]))
        x = x + self.decoder_pos_embed
        for blk in self.decoder_blocks:
            x = blk(x)
        return self.decoder_pred(x)

    def forward(self, imgs, mask_ratio=0.75):
        latent, mask, ids_restore = self.forward_encoder(imgs, mask_ratio)
        pred = self.forward_decoder(latent, ids_restore)
        loss = ((pred - imgs) ** 2).mean(dim=-1)
        return (loss * mask).sum() / mask.sum()


def run():
    torch.manual_seed(0)
    model = MaskedAutoencoderViT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95))
    before = model.mask_token.detach().clone()
    for _ in range(3):
        loss = model(torch.randn(4, 16, 12))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return before, model.mask_token.detach().clone()


def verify(outcome):
    assert torch.equal(*outcome)


TRUTH = Truth(
    fault="mask_token.data cuts the mask token from the graph",
    names=("mask_token",),
    repair=("mask_tokens = self.mask_token.repeat(x.shape[0], ids_restore.shape[1] - x.shape[1], 1)",),
)
