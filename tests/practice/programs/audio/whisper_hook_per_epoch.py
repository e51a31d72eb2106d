"""Speech: the hooks that slow the encoder down are registered at every epoch, and multiply."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class ResidualAttentionBlock(nn.Module):
    def __init__(self, n_state, n_head, cross_attention=False):
        super().__init__()
        self.attn_ln = nn.LayerNorm(n_state)
        self.attn = nn.MultiheadAttention(n_state, n_head, batch_first=True)
        self.cross_ln = nn.LayerNorm(n_state) if cross_attention else None
        self.cross_attn = nn.MultiheadAttention(n_state, n_head, batch_first=True) if cross_attention else None
        self.mlp_ln = nn.LayerNorm(n_state)
        self.mlp = nn.Sequential(nn.Linear(n_state, 2 * n_state), nn.GELU(), nn.Linear(2 * n_state, n_state))

    def forward(self, x, xa=None, mask=None):
        h = self.attn_ln(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        if self.cross_attn is not None:
            x = x + self.cross_attn(self.cross_ln(x), xa, xa, need_weights=False)[0]
        return x + self.mlp(self.mlp_ln(x))


class AudioEncoder(nn.Module):
    def __init__(self, n_mels, n_ctx, n_state, n_head):
        super().__init__()
        self.conv1 = nn.Conv1d(n_mels, n_state, 3, padding=1)
        self.conv2 = nn.Conv1d(n_state, n_state, 3, stride=2, padding=1)
        t = torch.arange(n_ctx)[:, None] * torch.exp(-torch.arange(n_state // 2) / 2)[None]
        self.register_buffer("positional_embedding", torch.cat([t.sin(), t.cos()], 1))
        self.block = ResidualAttentionBlock(n_state, n_head)

    def forward(self, mel):
        x = F.gelu(self.conv2(F.gelu(self.conv1(mel)))).permute(0, 2, 1)
        return self.block(x + self.positional_embedding)


class TextDecoder(nn.Module):
    def __init__(self, n_vocab, n_ctx, n_state, n_head):
        super().__init__()
        self.token_embedding = nn.Embedding(n_vocab, n_state)
        self.positional_embedding = nn.Parameter(torch.randn(n_ctx, n_state) * 0.01)
        self.block = ResidualAttentionBlock(n_state, n_head, cross_attention=True)
        self.ln = nn.LayerNorm(n_state)
        self.register_buffer("mask", torch.triu(torch.full((n_ctx, n_ctx), float("-inf")), 1), persistent=False)

    def forward(self, tokens, xa):
        n = tokens.size(1)
        x = self.token_embedding(tokens) + self.positional_embedding[:n]
        x = self.ln(self.block(x, xa, self.mask[:n, :n]))
        return x @ self.token_embedding.weight.t()


class Whisper(nn.Module):
    def __init__(self, n_mels=8, frames=16, n_state=16, vocab=30, text=8):
        super().__init__()
        self.encoder = AudioEncoder(n_mels, frames // 2, n_state, 2)
        self.decoder = TextDecoder(vocab, text, n_state, 2)

    def forward(self, mel, tokens):
        return self.decoder(tokens, self.encoder(mel))


def slow_down(module, factor):
    """Discriminative fine-tuning without a second parameter group."""
    return [p.register_hook(lambda grad: grad * factor) for p in module.parameters() if p.requires_grad]


def train_epoch(model, optimizer, data, encoder_factor):
    model.train()
    slow_down(model.encoder, encoder_factor)  # cause
    for mel, tokens in data:
        logits = model(mel, tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def run():
    torch.manual_seed(0)
    model = Whisper()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = [(torch.randn(3, 8, 16), torch.randint(0, 30, (3, 8))) for _ in range(2)]
    scale = []
    for epoch in range(3):
        train_epoch(model, optimizer, data, encoder_factor=0.1)
        probe = model.encoder.conv1.bias
        optimizer.zero_grad()
        probe.sum().backward()
        scale.append(probe.grad[0].item())
    return scale


def verify(scale):
    assert abs(scale[0] - 0.1) < 1e-6 and scale[2] < 0.0011


TRUTH = Truth(
    fault="hooks on the encoder's parameters are registered every epoch and never removed, their factors multiply",
    names=("encoder", "register_hook"),
    repair=("slow_down(model.encoder, encoder_factor if not model.encoder.conv1.weight._backward_hooks else 1.0)",),
)
