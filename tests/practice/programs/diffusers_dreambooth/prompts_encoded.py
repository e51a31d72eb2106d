"""diffusers, DreamBooth with --train_text_encoder: encode_prompt() came over from the script that caches embeddings."""

import itertools
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

ARGS = SimpleNamespace(train_text_encoder=True, learning_rate=1e-3, prior_loss_weight=1.0, max_grad_norm=1.0)


class CLIPTextModel(nn.Module):
    def __init__(self, vocab=30, dim=16):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab, dim)
        self.encoder = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)

    def forward(self, input_ids):
        return (self.encoder(self.token_embedding(input_ids)),)


class UNet2DConditionModel(nn.Module):
    def __init__(self, channels=4, dim=16):
        super().__init__()
        self.conv_in = nn.Conv2d(channels, dim, 3, padding=1)
        self.time_proj = nn.Embedding(100, dim)
        self.attn = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.conv_out = nn.Conv2d(dim, channels, 3, padding=1)

    def forward(self, sample, timesteps, encoder_hidden_states):
        h = self.conv_in(sample) + self.time_proj(timesteps)[:, :, None, None]
        q = h.flatten(2).transpose(1, 2)
        q = q + self.attn(q, encoder_hidden_states, encoder_hidden_states, need_weights=False)[0]
        return SimpleNamespace(sample=self.conv_out(q.transpose(1, 2).reshape(h.shape)))


class DDPMScheduler:
    def __init__(self, steps=100):
        self.alphas_cumprod = torch.cumprod(1 - torch.linspace(1e-4, 0.02, steps), 0)

    def add_noise(self, x, noise, t):
        a = self.alphas_cumprod[t][:, None, None, None]
        return a.sqrt() * x + (1 - a).sqrt() * noise


@torch.no_grad()  # cause
def encode_prompt(text_encoder, input_ids):
    prompt_embeds = text_encoder(input_ids.view(len(input_ids), -1))[0]
    return prompt_embeds


def collate(instance, classes):
    pixels = torch.cat([instance, classes])
    ids = torch.cat([torch.randint(0, 30, (1, 7)).repeat(len(instance), 1), torch.randint(0, 30, (len(classes), 7))])
    return {"latents": pixels, "input_ids": ids}


def run():
    torch.manual_seed(0)
    unet, text_encoder, noise_scheduler = UNet2DConditionModel(), CLIPTextModel(), DDPMScheduler()
    chained = itertools.chain(unet.parameters(), text_encoder.parameters())
    params_to_optimize = list(chained if ARGS.train_text_encoder else unet.parameters())
    optimizer = torch.optim.AdamW(params_to_optimize, lr=ARGS.learning_rate, weight_decay=0.0)
    start = [p.detach().clone() for p in text_encoder.parameters()]
    for _ in range(3):
        batch = collate(torch.randn(2, 4, 8, 8), torch.randn(2, 4, 8, 8))
        noise = torch.randn_like(batch["latents"])
        timesteps = torch.randint(0, 100, (4,))
        noisy = noise_scheduler.add_noise(batch["latents"], noise, timesteps)
        encoder_hidden_states = encode_prompt(text_encoder, batch["input_ids"])
        model_pred = unet(noisy, timesteps, encoder_hidden_states).sample
        (pred, pred_prior), (target, target_prior) = model_pred.chunk(2), noise.chunk(2)
        loss = F.mse_loss(pred, target) + ARGS.prior_loss_weight * F.mse_loss(pred_prior, target_prior)
        loss.backward()
        nn.utils.clip_grad_norm_(params_to_optimize, ARGS.max_grad_norm)
        optimizer.step()
        optimizer.zero_grad()
    return [torch.equal(p, s) for p, s in zip(text_encoder.parameters(), start)]


def verify(same):
    assert all(same)


TRUTH = Truth(
    fault="the prompts are encoded without a graph, so the text encoder that is to be trained gets no gradient",
    names=("text_encoder", "encode_prompt"),
    repair=("@torch.enable_grad()",),
)
