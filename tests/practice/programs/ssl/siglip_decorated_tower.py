"""Contrastive: encode_text() kept the @torch.no_grad() of the retrieval demo, so that the text tower never trains."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class MAPHead(nn.Module):
    """Attention pooling with a learned probe."""

    def __init__(self, dim, heads=2):
        super().__init__()
        self.probe = nn.Parameter(torch.randn(1, 1, dim) * 0.02)
        self.attention = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.layernorm = nn.LayerNorm(dim)

    def forward(self, x):
        x = self.attention(self.probe.expand(len(x), -1, -1), x, x, need_weights=False)[0]
        return (x + self.layernorm(x))[:, 0]


class VisionTower(nn.Module):
    def __init__(self, dim=16, patch=4):
        super().__init__()
        self.patch = nn.Conv2d(3, dim, patch, patch)
        self.mlp = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.GELU())
        self.head = MAPHead(dim)

    def forward(self, pixel_values):
        x = self.patch(pixel_values).flatten(2).transpose(1, 2)
        return self.head(x + self.mlp(x))


class TextTower(nn.Module):
    def __init__(self, vocab=40, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, dim)

    def forward(self, input_ids):
        return self.head(self.rnn(self.embed(input_ids))[0][:, -1])


class SigLIP(nn.Module):
    def __init__(self):
        super().__init__()
        self.vision, self.text = VisionTower(), TextTower()
        self.logit_scale = nn.Parameter(torch.tensor(2.3))
        self.logit_bias = nn.Parameter(torch.tensor(-5.0))

    def encode_image(self, pixel_values):
        return F.normalize(self.vision(pixel_values), dim=-1)

    @torch.no_grad()  # cause
    def encode_text(self, input_ids):
        return F.normalize(self.text(input_ids), dim=-1)

    def forward(self, pixel_values, input_ids):
        img, txt = self.encode_image(pixel_values), self.encode_text(input_ids)
        return txt @ img.t() * self.logit_scale.exp() + self.logit_bias


class Index:
    """Text retrieval for the demo."""

    def __init__(self, model, captions):
        self.model, self.captions = model, captions
        self.embeddings = model.encode_text(captions).detach()

    @torch.no_grad()
    def search(self, pixel_values, k=2):
        return (self.model.encode_image(pixel_values) @ self.embeddings.t()).topk(k).indices


def sigmoid_loss(logits):
    labels = 2 * torch.eye(len(logits)) - 1
    return -F.logsigmoid(labels * logits).sum() / len(logits)


def run():
    torch.manual_seed(0)
    model = SigLIP()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.0)
    captions = torch.randint(0, 40, (12, 5))
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    for step in range(3):
        images = torch.rand(6, 3, 8, 8)
        loss = sigmoid_loss(model(images, captions[torch.randperm(12)[:6]]))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        Index(model, captions).search(images[:2])
    return [n for n, p in model.named_parameters() if torch.equal(p, before[n])]


def verify(still):
    assert still and all(n.startswith("text.") for n in still) and "text.embed.weight" in still


TRUTH = Truth(
    fault="encode_text runs without gradients, the text tower is never trained",
    names=("text", "encode_text"),
    repair=("",),
)
