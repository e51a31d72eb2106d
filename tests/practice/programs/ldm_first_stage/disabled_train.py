"""Latent diffusion: train() of the frozen first stage is replaced, latents are detached and rescaled once; nothing is wrong."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def disabled_train(self, mode=True):
    """Overwrites model.train, so that the mode does not change any more."""
    return self


class AutoencoderKL(nn.Module):
    def __init__(self, ch=8, z=4):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, ch, 3, 2, 1), nn.BatchNorm2d(ch), nn.SiLU(), nn.Dropout(0.2), nn.Conv2d(ch, 2 * z, 1)
        )
        self.decoder = nn.Sequential(
            nn.Conv2d(z, ch, 3, 1, 1), nn.BatchNorm2d(ch), nn.SiLU(), nn.Upsample(scale_factor=2), nn.Conv2d(ch, 3, 1)
        )

    def encode(self, x):
        mean, logvar = self.encoder(x).chunk(2, dim=1)
        return mean + torch.exp(0.5 * logvar.clamp(-30, 20)) * torch.randn_like(mean)


class Denoiser(nn.Module):
    def __init__(self, z=4, ch=8, ctx=6):
        super().__init__()
        self.inp, self.out = nn.Conv2d(z, ch, 3, 1, 1), nn.Conv2d(ch, z, 3, 1, 1)
        self.cond, self.drop = nn.Linear(ctx, ch), nn.Dropout(0.1)
        nn.init.zeros_(self.out.weight)  # zero_module()
        nn.init.zeros_(self.out.bias)

    def forward(self, x, t, c):
        h = self.inp(x) + self.cond(c)[:, :, None, None] + t.view(-1, 1, 1, 1)
        return self.out(self.drop(F.silu(h)))


class LatentDiffusion(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = Denoiser()
        self.cond_stage_model = nn.Embedding(5, 6)
        self.register_buffer("scale_factor", torch.tensor(1.0))
        self.instantiate_first_stage()

    def instantiate_first_stage(self):
        model = AutoencoderKL()
        self.first_stage_model = model.eval()
        self.first_stage_model.train = disabled_train.__get__(model)
        for param in self.first_stage_model.parameters():
            param.requires_grad = False

    @torch.no_grad()
    def on_train_batch_start(self, x, batch_idx):
        if batch_idx == 0:
            z = self.first_stage_model.encode(x).detach()
            del self.scale_factor
            self.register_buffer("scale_factor", 1.0 / z.flatten().std())

    def shared_step(self, x, label):
        with torch.no_grad():
            z = self.scale_factor * self.first_stage_model.encode(x).detach()
        t, noise = torch.rand(len(z)), torch.randn_like(z)
        a = torch.cos(t * torch.pi / 2).view(-1, 1, 1, 1)
        noisy = a * z + (1 - a**2).sqrt() * noise
        return F.mse_loss(self.model(noisy, t, self.cond_stage_model(label)), noise)


def run():
    torch.manual_seed(0)
    ldm = LatentDiffusion()
    params = list(ldm.model.parameters()) + list(ldm.cond_stage_model.parameters())
    opt = torch.optim.AdamW(params, lr=1e-2)
    start = {n: v.detach().clone() for n, v in ldm.state_dict().items()}
    for batch_idx in range(4):
        ldm.train()
        x, label = torch.rand(4, 3, 8, 8) * 2 - 1, torch.arange(4)
        ldm.on_train_batch_start(x, batch_idx)
        loss = ldm.shared_step(x, label)
        opt.zero_grad()
        loss.backward()
        opt.step()
    changed = {n for n, v in ldm.state_dict().items() if not torch.equal(v, start[n])}
    return changed, ldm.first_stage_model.training


def verify(outcome):
    changed, training = outcome
    assert not training and not any(n.startswith("first_stage") for n in changed), outcome
    assert {
        "model.inp.weight",
        "model.out.weight",
        "model.cond.weight",
        "cond_stage_model.weight",
        "scale_factor",
    } <= changed


TRUTH = Truth()
