"""Textual inversion as in diffusers, and right: the table is trained, and after each step all rows but the new one are put back."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class TextEncoder(nn.Module):
    def __init__(self, vocab=12, dim=8):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab, dim)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.final_layer_norm = nn.LayerNorm(dim)

    def get_input_embeddings(self):
        return self.token_embedding

    def resize_token_embeddings(self, n):
        old = self.token_embedding
        new = nn.Embedding(n, old.embedding_dim)
        new.weight.data[: old.num_embeddings] = old.weight.data
        self.token_embedding = new

    def forward(self, ids):
        return self.final_layer_norm(self.encoder(self.token_embedding(ids))[0])


class UNet(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.inp, self.cross, self.out = nn.Linear(6, dim), nn.Linear(dim, dim), nn.Linear(dim, 6)

    def forward(self, x, context):
        h = self.inp(x)
        attn = (h.unsqueeze(1) @ context.transpose(1, 2) / 8**0.5).softmax(-1)
        return self.out(h + self.cross((attn @ context).squeeze(1)))


def run():
    torch.manual_seed(0)
    text_encoder, unet = TextEncoder(), UNet()
    text_encoder.resize_token_embeddings(13)
    placeholder, initializer = 12, 3
    token_embeds = text_encoder.get_input_embeddings().weight.data
    token_embeds[placeholder] = token_embeds[initializer].clone()

    unet.requires_grad_(False)
    text_encoder.encoder.requires_grad_(False)
    text_encoder.final_layer_norm.requires_grad_(False)
    optimizer = torch.optim.AdamW(text_encoder.get_input_embeddings().parameters(), lr=5e-3, weight_decay=1e-2)
    orig_embeds = text_encoder.get_input_embeddings().weight.data.clone()
    keep = torch.ones(13, dtype=torch.bool)
    keep[placeholder] = False

    text_encoder.train()
    for _ in range(4):
        ids = torch.randint(0, 12, (6, 5))
        ids[:, 2] = placeholder
        latents, noise = torch.randn(6, 6), torch.randn(6, 6)
        model_pred = unet(latents + noise, text_encoder(ids))
        loss = F.mse_loss(model_pred, noise)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        with torch.no_grad():
            text_encoder.get_input_embeddings().weight[keep] = orig_embeds[keep]
    weight = text_encoder.get_input_embeddings().weight.detach()
    return (weight - orig_embeds)[keep].abs().max().item(), (weight - orig_embeds)[placeholder].abs().max().item()


def verify(outcome):
    others, new = outcome
    assert others == 0.0 and new > 1e-3


TRUTH = Truth()
