"""Speech: the encoder is frozen in mid-run, but zeroed gradients and Adam's momentum carry it on."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Config:
    n_mels: int = 8
    n_state: int = 12
    n_vocab: int = 15
    lr: float = 5e-3
    weight_decay: float = 0.0
    freeze_encoder_at: int = 2
    steps: int = 5


class ResidualAttentionBlock(nn.Module):
    def __init__(self, d, cross=False):
        super().__init__()
        self.attn, self.attn_ln = nn.MultiheadAttention(d, 2, batch_first=True), nn.LayerNorm(d)
        self.cross_attn = nn.MultiheadAttention(d, 2, batch_first=True) if cross else None
        self.cross_attn_ln = nn.LayerNorm(d) if cross else None
        self.mlp, self.mlp_ln = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d)), nn.LayerNorm(d)

    def forward(self, x, xa=None, mask=None):
        h = self.attn_ln(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        if self.cross_attn is not None:
            x = x + self.cross_attn(self.cross_attn_ln(x), xa, xa, need_weights=False)[0]
        return x + self.mlp(self.mlp_ln(x))


class AudioEncoder(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv1d(c.n_mels, c.n_state, 3, padding=1), nn.Conv1d(c.n_state, c.n_state, 3, 2, 1)
        self.block, self.ln_post = ResidualAttentionBlock(c.n_state), nn.LayerNorm(c.n_state)

    def forward(self, mel):
        x = F.gelu(self.conv2(F.gelu(self.conv1(mel)))).transpose(1, 2)
        return self.ln_post(self.block(x))


class TextDecoder(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.token_embedding = nn.Embedding(c.n_vocab, c.n_state)
        self.block, self.ln = ResidualAttentionBlock(c.n_state, cross=True), nn.LayerNorm(c.n_state)

    def forward(self, tokens, xa):
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.size(1))
        x = self.block(self.token_embedding(tokens), xa, mask)
        return self.ln(x) @ self.token_embedding.weight.T


class Whisper(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.encoder, self.decoder = AudioEncoder(c), TextDecoder(c)

    def forward(self, mel, tokens):
        return self.decoder(tokens, self.encoder(mel))


class FreezeEncoderCallback:
    def __init__(self, at):
        self.at = at

    def on_step_begin(self, step, model):
        if step == self.at:
            for p in model.encoder.parameters():
                p.requires_grad = False


class FineTuner:
    def __init__(self, c, model):
        self.c, self.model = c, model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=c.lr, weight_decay=c.weight_decay)
        self.callback = FreezeEncoderCallback(c.freeze_encoder_at)
        self.snapshots = []

    def train_step(self, step, mel, tokens):
        self.callback.on_step_begin(step, self.model)
        self.snapshots.append(self.model.encoder.conv1.weight.detach().clone())
        logits = self.model(mel, tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        self.optimizer.zero_grad(set_to_none=False)  # cause
        loss.backward()
        self.optimizer.step()
        return loss.item()


def run():
    torch.manual_seed(0)
    c = Config()
    tuner = FineTuner(c, Whisper(c))
    for step in range(c.steps):
        tuner.train_step(step, torch.randn(4, c.n_mels, 12), torch.randint(c.n_vocab, (4, 6)))
    return c.freeze_encoder_at, tuner.snapshots


def verify(outcome):
    at, snapshots = outcome
    assert all(not torch.equal(snapshots[at], later) for later in snapshots[at + 1 :])


TRUTH = Truth(
    fault="the frozen encoder keeps zero gradients instead of None, so AdamW still applies its momentum to it",
    names=("encoder",),
    repair=("self.optimizer.zero_grad(set_to_none=True)",),
)
