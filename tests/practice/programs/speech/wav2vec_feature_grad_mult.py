"""Speech: the extractor's gradient is scaled by mixing a detached copy in (healthy)."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Wav2Vec2Config:
    conv_dim: int = 16
    encoder_dim: int = 16
    feature_grad_mult: float = 0.1
    mask_prob: float = 0.4
    num_negatives: int = 5
    logit_temp: float = 0.1
    lr: float = 1e-2


class ConvFeatureExtractionModel(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv_layers = nn.ModuleList(
            [nn.Conv1d(1, dim, 10, 5), nn.Conv1d(dim, dim, 3, 2), nn.Conv1d(dim, dim, 3, 2)]
        )

    def forward(self, x):
        x = x.unsqueeze(1)
        for conv in self.conv_layers:
            x = F.gelu(conv(x))
        return x


class TransformerEncoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.pos_conv = nn.Conv1d(dim, dim, 5, padding=2, groups=4)
        self.layer = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)

    def forward(self, x):
        x = x + F.gelu(self.pos_conv(x.transpose(1, 2))).transpose(1, 2)
        return self.layer(x)


class Wav2Vec2Model(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.feature_extractor = ConvFeatureExtractionModel(cfg.conv_dim)
        self.layer_norm = nn.LayerNorm(cfg.conv_dim)
        self.mask_emb = nn.Parameter(torch.empty(cfg.encoder_dim).uniform_())
        self.project_q = nn.Linear(cfg.conv_dim, cfg.encoder_dim)
        self.encoder = TransformerEncoder(cfg.encoder_dim)
        self.final_proj = nn.Linear(cfg.encoder_dim, cfg.encoder_dim)

    def apply_mask(self, x):
        mask = torch.rand(x.shape[:2]) < self.cfg.mask_prob
        mask[:, 0] = True
        x = x.clone()
        x[mask] = self.mask_emb
        return x, mask

    def sample_negatives(self, y):
        with torch.no_grad():
            idx = torch.randint(len(y), (len(y), self.cfg.num_negatives))
        return y[idx]

    def compute_preds(self, x, y, negatives):
        targets = torch.cat([y.unsqueeze(1), negatives], dim=1)
        return F.cosine_similarity(x.unsqueeze(1), targets, dim=-1) / self.cfg.logit_temp

    def forward(self, source):
        features = self.feature_extractor(source)
        mult = self.cfg.feature_grad_mult
        features = features * mult + features.detach() * (1 - mult)
        features = self.layer_norm(features.transpose(1, 2))
        unmasked = features.clone()
        x, mask = self.apply_mask(features)
        x = self.final_proj(self.encoder(x))[mask]
        y = self.project_q(unmasked[mask])
        logits = self.compute_preds(x, y, self.sample_negatives(y))
        return F.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.long)), features


def conv_gradients(model, source, mult):
    torch.manual_seed(7)
    model.cfg.feature_grad_mult = mult
    loss, _ = model(source)
    return torch.autograd.grad(loss, list(model.feature_extractor.parameters()))


def run():
    torch.manual_seed(0)
    cfg = Wav2Vec2Config()
    model = Wav2Vec2Model(cfg)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    source = torch.randn(4, 200)
    full, scaled = conv_gradients(model, source, 1.0), conv_gradients(model, source, 0.1)
    before = [p.detach().clone() for p in model.parameters()]
    for _ in range(3):
        loss, features = model(source)
        loss = loss + 0.1 * features.float().pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return full, scaled, before, [p.detach() for p in model.parameters()]


def verify(outcome):
    full, scaled, before, after = outcome
    assert all(torch.allclose(0.1 * f, s, rtol=1e-3, atol=1e-5) for f, s in zip(full, scaled))
    assert all(not torch.equal(b, a) for b, a in zip(before, after))


TRUTH = Truth()
