"""VAE with activation checkpointing: the reentrant kind gets an input without gradient, so all of the encoder has none."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth


class Block(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.conv = nn.Conv2d(i, o, 3, stride, 1)
        self.norm = nn.GroupNorm(2, o)
        self.skip = nn.Conv2d(i, o, 1, stride) if i != o or stride != 1 else nn.Identity()

    def forward(self, x):
        return F.silu(self.norm(self.conv(x)) + self.skip(x))


class AutoencoderKL(nn.Module):
    def __init__(self, ch=6, z=2, use_checkpoint=True):
        super().__init__()
        self.use_checkpoint = use_checkpoint
        self.down = nn.ModuleList([Block(3, ch, 1), Block(ch, ch, 2), Block(ch, 2 * ch, 1)])
        self.quant_conv = nn.Conv2d(2 * ch, 2 * z, 1)
        self.up = nn.ModuleList([Block(z, ch, 1), Block(ch, ch, 1)])
        self.conv_out = nn.ConvTranspose2d(ch, 3, 4, 2, 1)

    def run_block(self, block, x):
        if self.use_checkpoint and self.training:
            return checkpoint(block, x, use_reentrant=True)  # cause
        return block(x)

    def forward(self, x):
        for block in self.down:
            x = self.run_block(block, x)  # also
        mean, logvar = self.quant_conv(x).chunk(2, 1)
        z = mean + torch.randn_like(mean) * (0.5 * logvar.clamp(-30, 20)).exp()
        kl = 0.5 * (mean.pow(2) + logvar.exp() - 1 - logvar).sum((1, 2, 3)).mean()
        for block in self.up:
            z = self.run_block(block, z)
        return self.conv_out(z), kl


def run():
    torch.manual_seed(0)
    model = AutoencoderKL()
    opt = torch.optim.AdamW(model.parameters(), lr=4.5e-6, betas=(0.5, 0.9))
    model.train()
    for step in range(2):
        x = torch.rand(2, 3, 8, 8) * 2 - 1
        recon, kl = model(x)
        loss = F.l1_loss(recon, x) + 1e-6 * kl
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"step {step} loss {loss.item():.4f}")
    return model


def verify(model):
    assert all(p.grad is None for p in model.down.parameters())
    assert all(p.grad is not None for p in model.up.parameters())


TRUTH = Truth(
    fault="reentrant checkpointing of blocks whose input needs no gradient",
    names=("down",),
    repair=("return checkpoint(block, x, use_reentrant=False)",),
)
