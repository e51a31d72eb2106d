"""Glow-TTS: the alignment is found by dynamic programming on numbers, and only its path enters the loss."""

import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def maximum_path(value):
    """The best monotonic path through log-likelihoods of [text, frames]."""
    t_x, t_y = value.shape
    best = np.full((t_x, t_y), -1e9)
    for j in range(t_y):
        for i in range(max(0, t_x + j - t_y), min(t_x, j + 1)):
            stay = best[i, j - 1] if j > 0 and i <= j - 1 else (0.0 if i == j == 0 else -1e9)
            move = best[i - 1, j - 1] if i > 0 and j > 0 else (0.0 if i == j == 0 else -1e9)
            best[i, j] = value[i, j] + max(stay, move)
    path, i = np.zeros((t_x, t_y), dtype=np.float32), t_x - 1
    for j in range(t_y - 1, -1, -1):
        path[i, j] = 1
        if i > 0 and (i == j or best[i, j - 1] < best[i - 1, j - 1]):
            i -= 1
    return path


class TextEncoder(nn.Module):
    def __init__(self, vocab=15, mel=6, dim=12):
        super().__init__()
        self.emb, self.conv = nn.Embedding(vocab, dim), nn.Conv1d(dim, dim, 3, padding=1)
        self.proj_m, self.proj_w = nn.Conv1d(dim, mel, 1), nn.Sequential(nn.Conv1d(dim, 8, 1), nn.ReLU())
        self.duration = nn.Conv1d(8, 1, 1)

    def forward(self, text):
        h = torch.relu(self.conv(self.emb(text).transpose(1, 2)))
        return self.proj_m(h), self.duration(self.proj_w(h.detach())).squeeze(1)


class AffineFlow(nn.Module):
    def __init__(self, mel=6):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(mel // 2, 16, 3, padding=1), nn.ReLU(), nn.Conv1d(16, mel, 1))
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, y):
        a, b = y.chunk(2, 1)
        m, logs = self.net(a).chunk(2, 1)
        return torch.cat([a, b * logs.exp() + m], 1), logs.sum((1, 2))


def loss_fn(encoder, flow, text, mel):
    x_m, logw = encoder(text)
    z, logdet = flow(mel)
    with torch.no_grad():
        logp = -0.5 * (math.log(2 * math.pi) + (x_m[..., :, None] - z[..., None, :]) ** 2).sum(1)
        attn = torch.from_numpy(np.stack([maximum_path(v) for v in logp.double().numpy()]))
    z_m = x_m @ attn
    mle = 0.5 * ((z - z_m) ** 2).sum((1, 2)) - logdet
    duration = F.mse_loss(logw, torch.log(attn.sum(-1) + 1e-8))
    return mle.mean() / z[0].numel() + duration


def run():
    torch.manual_seed(0)
    encoder, flow = TextEncoder(), AffineFlow()
    params = [*encoder.parameters(), *flow.parameters()]
    start = [p.detach().clone() for p in params]
    optimizer = torch.optim.Adam(params, lr=5e-3, betas=(0.9, 0.98), eps=1e-9)
    text, mel, losses = torch.randint(0, 15, (2, 5)), torch.randn(2, 6, 14), []
    for _ in range(5):
        loss = loss_fn(encoder, flow, text, mel)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(params, 5.0)
        optimizer.step()
        losses.append(loss.item())
    return losses, [not torch.equal(p, s) for p, s in zip(params, start)]


def verify(outcome):
    losses, moved = outcome
    assert losses[-1] < losses[0] and all(moved)


TRUTH = Truth()
