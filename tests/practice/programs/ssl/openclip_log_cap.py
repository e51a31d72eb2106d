"""Self-supervision: CLIP's scale is clamped after exp() by the bound of its logarithm, which kills its gradient."""

import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class CLIPCfg:
    embed_dim: int = 16
    vocab_size: int = 30
    context_length: int = 6
    width: int = 16
    lr: float = 1e-2
    init_logit_scale: float = math.log(1 / 0.07)
    max_logit_scale: float = math.log(100)


class VisionTower(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.conv1 = nn.Conv2d(3, cfg.width, 4, 4, bias=False)
        self.class_embedding = nn.Parameter(torch.randn(cfg.width) * cfg.width**-0.5)
        self.transformer = nn.TransformerEncoderLayer(cfg.width, 2, 32, dropout=0.0, batch_first=True)
        self.ln_post = nn.LayerNorm(cfg.width)
        self.proj = nn.Parameter(torch.randn(cfg.width, cfg.embed_dim) * cfg.width**-0.5)

    def forward(self, x):
        x = self.conv1(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.class_embedding.expand(len(x), 1, -1), x], dim=1)
        return self.ln_post(self.transformer(x)[:, 0]) @ self.proj


class TextTower(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.token_embedding = nn.Embedding(cfg.vocab_size, cfg.width)
        self.positional_embedding = nn.Parameter(torch.randn(cfg.context_length, cfg.width) * 0.01)
        self.transformer = nn.TransformerEncoderLayer(cfg.width, 2, 32, dropout=0.0, batch_first=True)
        self.ln_final = nn.LayerNorm(cfg.width)
        self.text_projection = nn.Parameter(torch.randn(cfg.width, cfg.embed_dim) * cfg.width**-0.5)

    def forward(self, text):
        x = self.token_embedding(text) + self.positional_embedding
        x = self.ln_final(self.transformer(x))
        return x[torch.arange(len(x)), text.argmax(dim=-1)] @ self.text_projection


class CLIP(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.visual, self.text = VisionTower(cfg), TextTower(cfg)
        self.logit_scale = nn.Parameter(torch.ones([]) * cfg.init_logit_scale)

    def forward(self, image, text):
        image_features = F.normalize(self.visual(image), dim=-1)
        text_features = F.normalize(self.text(text), dim=-1)
        scale = self.logit_scale.exp().clamp(max=self.cfg.max_logit_scale)  # cause
        return image_features, text_features, scale


class ClipLoss(nn.Module):
    def forward(self, image_features, text_features, logit_scale):
        logits = logit_scale * image_features @ text_features.T
        labels = torch.arange(len(logits))
        return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels)) / 2


def exclude(name, p):
    return p.ndim < 2 or "bn" in name or "ln" in name or "bias" in name or "logit_scale" in name


def train_one_epoch(model, loader, loss_fn, optimizer):
    model.train()
    scales = []
    for images, texts in loader:
        optimizer.zero_grad()
        loss = loss_fn(*model(images, texts))
        loss.backward()
        optimizer.step()
        scales.append(model.logit_scale.item())
    return scales


def run():
    torch.manual_seed(0)
    cfg = CLIPCfg()
    model = CLIP(cfg)
    named = list(model.named_parameters())
    optimizer = torch.optim.AdamW(
        [
            {"params": [p for n, p in named if exclude(n, p)], "weight_decay": 0.0},
            {"params": [p for n, p in named if not exclude(n, p)], "weight_decay": 0.2},
        ],
        lr=cfg.lr,
        betas=(0.9, 0.98),
        eps=1e-6,
    )
    loader = [(torch.randn(8, 3, 8, 8), torch.randint(cfg.vocab_size, (8, cfg.context_length))) for _ in range(4)]
    return cfg.init_logit_scale, train_one_epoch(model, loader, ClipLoss(), optimizer)


def verify(outcome):
    start, scales = outcome
    assert all(abs(s - start) < 1e-6 for s in scales)


TRUTH = Truth(
    fault="exp(2.66)=14.3 is clamped to ln(100)=4.6: in the flat part of clamp logit_scale gets a zero gradient for ever",
    names=("logit_scale",),
    values=True,
    repair=("scale = self.logit_scale.clamp(max=self.cfg.max_logit_scale).exp()",),
)
