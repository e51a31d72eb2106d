"""Diffusion: the parameters to clip are one itertools.chain, used up by the optimizer, so nothing is ever clipped."""

import itertools
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class TextEncoder(nn.Module):
    def __init__(self, vocab=50, dim=8):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, dim)
        self.layer = nn.TransformerEncoderLayer(dim, 2, 16, dropout=0.0, batch_first=True)

    def forward(self, input_ids):
        return (self.layer(self.embeddings(input_ids)),)


class UNet(nn.Module):
    def __init__(self, channels=4, dim=8):
        super().__init__()
        self.conv_in = nn.Conv2d(channels, dim, 3, padding=1)
        self.time = nn.Embedding(100, dim)
        self.attn = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.conv_out = nn.Conv2d(dim, channels, 3, padding=1)

    def forward(self, sample, timestep, context):
        h = F.silu(self.conv_in(sample) + self.time(timestep)[:, :, None, None])
        flat = h.flatten(2).transpose(1, 2)
        flat = flat + self.attn(flat, context, context)[0]
        return SimpleNamespace(sample=self.conv_out(flat.transpose(1, 2).view_as(h)))


class DDPMScheduler:
    num_train_timesteps = 100

    def __init__(self):
        self.alphas_cumprod = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 100), 0)

    def add_noise(self, x, noise, t):
        a = self.alphas_cumprod[t].view(-1, 1, 1, 1)
        return a.sqrt() * x + (1 - a).sqrt() * noise


def collate_fn(examples, with_prior_preservation):
    input_ids = [e["instance_prompt_ids"] for e in examples]
    pixels = [e["instance_images"] for e in examples]
    if with_prior_preservation:
        input_ids += [e["class_prompt_ids"] for e in examples]
        pixels += [e["class_images"] for e in examples]
    return torch.stack(input_ids), torch.stack(pixels)


def example():
    return {
        "instance_prompt_ids": torch.randint(0, 50, (5,)),
        "instance_images": torch.randn(4, 4, 4),
        "class_prompt_ids": torch.randint(0, 50, (5,)),
        "class_images": torch.randn(4, 4, 4),
    }


def run():
    torch.manual_seed(0)
    args = SimpleNamespace(
        lr=5e-3, max_grad_norm=0.01, prior_loss_weight=1.0, with_prior_preservation=True, train_text_encoder=True
    )
    text_encoder, unet, vae_scale = TextEncoder(), UNet(), 0.18215
    noise_scheduler = DDPMScheduler()
    trained = [unet, text_encoder] if args.train_text_encoder else [unet]
    params_to_optimize = itertools.chain(*(module.parameters() for module in trained))  # cause
    optimizer = torch.optim.AdamW(params_to_optimize, lr=args.lr)
    norms = []
    for step in range(3):
        input_ids, latents = collate_fn([example() for _ in range(2)], args.with_prior_preservation)
        latents = latents * vae_scale
        noise = torch.randn_like(latents)
        timesteps = torch.randint(0, noise_scheduler.num_train_timesteps, (latents.shape[0],))
        noisy_latents = noise_scheduler.add_noise(latents, noise, timesteps)
        encoder_hidden_states = text_encoder(input_ids)[0]
        model_pred = unet(noisy_latents, timesteps, encoder_hidden_states).sample
        model_pred, model_pred_prior = torch.chunk(model_pred, 2, dim=0)
        target, target_prior = torch.chunk(noise, 2, dim=0)
        loss = F.mse_loss(model_pred, target)
        loss = loss + args.prior_loss_weight * F.mse_loss(model_pred_prior, target_prior)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(params_to_optimize, args.max_grad_norm)  # also
        norms.append(torch.cat([p.grad.flatten() for g in optimizer.param_groups for p in g["params"]]).norm().item())
        optimizer.step()
        optimizer.zero_grad()
    return norms, args.max_grad_norm


def verify(outcome):
    norms, limit = outcome
    assert min(norms) > 2 * limit


TRUTH = Truth(
    fault="the chain of parameters was used up by the optimizer, clip_grad_norm_ gets nothing",
    names=("clip_grad_norm_",),
    repair=("params_to_optimize = [p for module in trained for p in module.parameters()]",),
)
