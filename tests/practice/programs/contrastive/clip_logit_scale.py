"""CLIP: the logit scale is exponentiated once before the loop, its graph is used up by the first backward."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class TextEncoder(nn.Module):
    def __init__(self, vocab=20, width=16, dim=8):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab, width)
        self.positional_embedding = nn.Parameter(0.01 * torch.randn(6, width))
        self.block = nn.TransformerEncoderLayer(width, 2, 32, dropout=0.0, batch_first=True)
        self.ln_final = nn.LayerNorm(width)
        self.text_projection = nn.Parameter(torch.randn(width, dim) / 4)

    def forward(self, text):
        x = self.token_embedding(text) + self.positional_embedding
        x = self.ln_final(self.block(x))
        return x[torch.arange(len(x)), text.argmax(-1)] @ self.text_projection


class CLIP(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.visual = nn.Sequential(nn.Conv2d(3, 8, 4, 4), nn.Flatten(), nn.GELU(), nn.Linear(32, dim))
        self.text = TextEncoder(dim=dim)
        self.logit_scale = nn.Parameter(torch.ones([]) * np.log(1 / 0.07))

    def forward(self, image, text):
        return F.normalize(self.visual(image), dim=-1), F.normalize(self.text(text), dim=-1)


def clip_loss(image_features, text_features, logit_scale):
    logits = logit_scale * image_features @ text_features.t()
    labels = torch.arange(len(logits))
    return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2


def run():
    torch.manual_seed(0)
    model = CLIP()
    decay = [p for p in model.parameters() if p.ndim >= 2]
    no_decay = [p for p in model.parameters() if p.ndim < 2]
    opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.2}, {"params": no_decay, "weight_decay": 0.0}], 5e-4)
    logit_scale = model.logit_scale.exp()  # cause
    for step in range(3):
        image, text = torch.randn(4, 3, 8, 8), torch.randint(0, 20, (4, 6))
        loss = clip_loss(*model(image, text), logit_scale)  # cause
        opt.zero_grad()
        loss.backward()  # symptom
        opt.step()
        with torch.no_grad():
            model.logit_scale.clamp_(0, np.log(100))
        print(f"step {step} loss {loss.item():.4f} scale {model.logit_scale.exp().item():.2f}")


TRUTH = Truth(
    fault="exp of the logit scale is taken outside of the loop",
    raises="Trying to backward through the graph a second time",
    names=("logit_scale",),
    repair=("", "loss = clip_loss(*model(image, text), model.logit_scale.exp())"),
)
