"""A masked autoencoder: the mask token is repeated in `__init__`, so the forward uses its first value for ever."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Decoder(nn.Module):
    def __init__(self, dim=12, patches=9, out=16):
        super().__init__()
        self.mask_token = nn.Parameter(torch.randn(1, 1, dim) * 0.02)
        self.position = nn.Parameter(torch.randn(1, patches, dim) * 0.02)
        self.all_masked = self.mask_token.repeat(1, patches, 1)  # cause
        self.block = nn.TransformerEncoderLayer(dim, 2, 24, dropout=0.0, batch_first=True, norm_first=True)
        self.head = nn.Linear(dim, out)

    def forward(self, visible, restore):
        missing = self.all_masked[:, : restore.shape[1] - visible.shape[1]].expand(len(visible), -1, -1)
        tokens = torch.cat([visible, missing], 1)
        tokens = tokens.gather(1, restore.unsqueeze(-1).expand(-1, -1, tokens.shape[-1]))
        return self.head(self.block(tokens + self.position))


class MAE(nn.Module):
    def __init__(self, patch=16, dim=12):
        super().__init__()
        self.embed = nn.Linear(patch, dim)
        self.encoder = nn.TransformerEncoderLayer(dim, 2, 24, dropout=0.0, batch_first=True)
        self.decoder = Decoder(dim, out=patch)

    def forward(self, patches, keep=3):
        noise = torch.rand(patches.shape[:2])
        shuffle = noise.argsort(1)
        restore = shuffle.argsort(1)
        kept = shuffle[:, :keep].unsqueeze(-1).expand(-1, -1, patches.shape[-1])
        latent = self.encoder(self.embed(patches.gather(1, kept)))
        error = (self.decoder(latent, restore) - patches).pow(2).mean(-1)
        mask = (restore >= keep).float()
        return (error * mask).sum() / mask.sum()


def run(steps=4):
    torch.manual_seed(0)
    mae = MAE()
    optimizer = torch.optim.AdamW(mae.parameters(), lr=1e-2, betas=(0.9, 0.95))
    for _ in range(steps):
        loss = mae(torch.randn(4, 9, 16))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return mae.decoder


def verify(decoder):
    assert not torch.equal(decoder.all_masked[0, 0], decoder.mask_token[0, 0])


TRUTH = Truth(
    fault="the copy of the mask token never changes, while the token itself is stepped",
    names=("all_masked",),
    repair=("self.all_masked = self.mask_token.expand(1, patches, -1)",),
)
