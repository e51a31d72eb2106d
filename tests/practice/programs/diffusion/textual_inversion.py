"""Textual inversion: one row of the embedding table learns, and all others are put back after each step."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class TextEncoder(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab, 8)
        self.position = nn.Embedding(4, 8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)

    def forward(self, ids):
        return self.layer(self.token_embedding(ids) + self.position.weight)


def run():
    torch.manual_seed(0)
    vocab = 12
    encoder, placeholder = TextEncoder(vocab), vocab - 1
    unet = nn.Sequential(nn.Linear(6 + 8, 24), nn.SiLU(), nn.Linear(24, 6))
    with torch.no_grad():
        encoder.token_embedding.weight[placeholder] = encoder.token_embedding.weight[3].clone()
    unet.requires_grad_(False)
    encoder.layer.requires_grad_(False)
    encoder.position.requires_grad_(False)
    unet.eval()
    encoder.train()
    optimizer = torch.optim.AdamW(encoder.token_embedding.parameters(), lr=5e-2, weight_decay=1e-2)
    orig_embeds_params = encoder.token_embedding.weight.data.clone()
    losses = []
    for _ in range(3):
        latents = torch.randn(4, 6)
        ids = torch.randint(vocab - 1, (4, 4))
        ids[:, 2] = placeholder
        noise = torch.randn_like(latents)
        hidden = encoder(ids).mean(1)
        pred = unet(torch.cat([0.7 * latents + 0.7 * noise, hidden], 1))
        loss = F.mse_loss(pred.float(), noise.float(), reduction="mean")
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        index_no_updates = torch.ones((vocab,), dtype=torch.bool)
        index_no_updates[placeholder] = False
        with torch.no_grad():
            encoder.token_embedding.weight[index_no_updates] = orig_embeds_params[index_no_updates]
        losses.append(loss.detach().item())
    return encoder, unet, orig_embeds_params, losses


TRUTH = Truth()


def verify(out):
    encoder, unet, start, losses = out
    moved = (encoder.token_embedding.weight != start).any(1)
    assert moved[-1] and not moved[:-1].any()
    assert all(p.grad is None for p in unet.parameters()) and max(losses) < 100
