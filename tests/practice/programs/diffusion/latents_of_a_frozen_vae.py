"""Latent diffusion: the latents are encoded in inference mode, and the U-Net cannot save them for its backward."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class VAE(nn.Module):
    scaling_factor = 0.18215

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.SiLU(), nn.Conv2d(8, 4, 1))
        self.decoder = nn.Sequential(nn.ConvTranspose2d(2, 8, 2, stride=2), nn.SiLU(), nn.Conv2d(8, 3, 1))

    def encode(self, x):
        mean, logvar = self.encoder(x).chunk(2, dim=1)
        return mean + torch.randn_like(mean) * (0.5 * logvar.clamp(-10, 10)).exp()

    def decode(self, z):
        return self.decoder(z / self.scaling_factor)


class Scheduler:
    def __init__(self, steps=10):
        self.abar = torch.linspace(0.99, 0.01, steps)

    def add_noise(self, z, noise, t):
        a = self.abar[t].view(-1, 1, 1, 1)
        return a.sqrt() * z + (1 - a).sqrt() * noise


class Trainer:
    def __init__(self):
        self.vae = VAE().eval().requires_grad_(False)
        self.gain = nn.Parameter(torch.ones(2, 1, 1))
        self.unet = nn.Sequential(
            nn.Conv2d(2, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.SiLU(), nn.Conv2d(8, 2, 3, padding=1)
        )
        self.sched = Scheduler()
        self.opt = torch.optim.AdamW([*self.unet.parameters(), self.gain], lr=1e-4)

    @torch.inference_mode()  # cause
    def latents(self, images):
        return self.vae.encode(images) * self.vae.scaling_factor

    def step(self, images):
        z = self.latents(images)
        noise = torch.randn_like(images[:, :2, ::2, ::2])
        t = torch.randint(0, 10, (images.shape[0],))
        pred = self.unet(self.sched.add_noise(self.gain * z, noise, t))  # symptom
        loss = F.mse_loss(pred, noise)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()

    @torch.no_grad()
    def log_images(self):
        return self.vae.decode(torch.randn(1, 2, 4, 4)).clamp(-1, 1)


def run():
    torch.manual_seed(0)
    trainer = Trainer()
    losses = [trainer.step(torch.rand(2, 3, 8, 8) * 2 - 1) for _ in range(2)]
    print(losses, trainer.log_images().shape)
    return trainer


TRUTH = Truth(
    fault="latents made in inference mode enter a graph",
    raises="Inference tensors cannot be saved for backward",
    names=("inference",),
    repair=("@torch.no_grad()",),
)
