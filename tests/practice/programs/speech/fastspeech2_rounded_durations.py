"""Speech: the duration loss is taken on the rounded durations, and rounding passes no gradient."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class ModelConfig:
    n_symbols: int = 20
    hidden: int = 16
    n_mels: int = 8
    n_bins: int = 6
    d_control: float = 1.0


class FFTBlock(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.attn = nn.MultiheadAttention(d, 2, batch_first=True)
        self.conv1, self.conv2 = nn.Conv1d(d, 2 * d, 3, padding=1), nn.Conv1d(2 * d, d, 1)
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, x):
        x = self.norm1(x + self.attn(x, x, x, need_weights=False)[0])
        h = self.conv2(F.relu(self.conv1(x.transpose(1, 2)))).transpose(1, 2)
        return self.norm2(x + h)


class VariancePredictor(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.conv = nn.Conv1d(d, d, 3, padding=1)
        self.norm = nn.LayerNorm(d)
        self.linear = nn.Linear(d, 1)

    def forward(self, x):
        h = F.relu(self.conv(x.transpose(1, 2))).transpose(1, 2)
        return self.linear(self.norm(h)).squeeze(-1)


class LengthRegulator(nn.Module):
    def forward(self, x, durations):
        out = [torch.repeat_interleave(row, d, dim=0) for row, d in zip(x, durations)]
        return nn.utils.rnn.pad_sequence(out, batch_first=True)


class VarianceAdaptor(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.duration_predictor = VariancePredictor(cfg.hidden)
        self.pitch_predictor = VariancePredictor(cfg.hidden)
        self.length_regulator = LengthRegulator()
        self.register_buffer("pitch_bins", torch.linspace(-2, 2, cfg.n_bins - 1))
        self.pitch_embedding = nn.Embedding(cfg.n_bins, cfg.hidden)

    def forward(self, x, durations, pitch):
        log_duration = self.duration_predictor(x)
        rounded = torch.clamp(torch.round(torch.exp(log_duration) - 1) * self.cfg.d_control, min=0)
        pitch_prediction = self.pitch_predictor(x)
        x = x + self.pitch_embedding(torch.bucketize(pitch, self.pitch_bins))
        return self.length_regulator(x, durations), log_duration, rounded, pitch_prediction


class FastSpeech2(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.embedding = nn.Embedding(cfg.n_symbols, cfg.hidden)
        self.encoder, self.decoder = FFTBlock(cfg.hidden), FFTBlock(cfg.hidden)
        self.variance_adaptor = VarianceAdaptor(cfg)
        self.mel_linear = nn.Linear(cfg.hidden, cfg.n_mels)

    def forward(self, texts, durations, pitch):
        x = self.encoder(self.embedding(texts))
        x, *rest = self.variance_adaptor(x, durations, pitch)
        return self.mel_linear(self.decoder(x)), *rest


def fastspeech2_loss(batch, outputs):
    _, durations, pitch, mels = batch
    mel, log_d, d_rounded, p = outputs
    log_duration_targets = torch.log(durations.float() + 1)
    mel_loss = F.l1_loss(mel, mels)
    pitch_loss = F.mse_loss(p, pitch)
    duration_loss = F.mse_loss(torch.log(d_rounded + 1), log_duration_targets)  # cause
    return mel_loss + pitch_loss + duration_loss


def make_batch(cfg):
    texts = torch.randint(cfg.n_symbols, (4, 6))
    durations = torch.tensor([1, 2, 3, 2, 4, 3]).repeat(4, 1)
    return texts, durations, torch.randn(4, 6), torch.randn(4, 15, cfg.n_mels)


def run():
    torch.manual_seed(0)
    cfg = ModelConfig()
    model = FastSpeech2(cfg)
    nn.init.constant_(model.variance_adaptor.duration_predictor.linear.bias, 1.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9)
    sizes = []
    for _ in range(3):
        batch = make_batch(cfg)
        loss = fastspeech2_loss(batch, model(*batch[:3]))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        predictor = model.variance_adaptor.duration_predictor
        sizes.append(sum(p.grad.abs().sum().item() for p in predictor.parameters()))
    return sizes


def verify(sizes):
    assert max(sizes) == 0.0


TRUTH = Truth(
    fault="torch.round has a zero derivative: the loss on rounded durations never trains the duration predictor",
    names=("duration_predictor",),
    repair=("duration_loss = F.mse_loss(log_d, log_duration_targets)",),
)
