"""Attention MIL on slides: the attention of each slide is kept for the heatmaps, and its graph with it."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class GatedAttentionMIL(nn.Module):
    def __init__(self, dim=16, hidden=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(12, dim), nn.ReLU())
        self.v, self.u = nn.Linear(dim, hidden), nn.Linear(dim, hidden)
        self.w = nn.Linear(hidden, 1)
        self.classifier = nn.Linear(dim, 1)

    def forward(self, tiles):
        h = self.encoder(tiles)
        a = self.w(torch.tanh(self.v(h)) * torch.sigmoid(self.u(h))).softmax(0)
        return self.classifier((a * h).sum(0)), a.squeeze(1)


class HeatmapStore:
    """Attention by epoch and slide, drawn over the thumbnails once training is over."""

    def __init__(self):
        self.maps = {}

    def add(self, epoch, slide_id, attention):
        self.maps[epoch, slide_id] = attention  # cause

    def draw(self, epoch, slide_id, width=5):
        a = self.maps[epoch, slide_id].tolist()
        return [a[i : i + width] for i in range(0, len(a), width)]


def train_epoch(model, opt, slides, store, epoch):
    model.train()
    running = 0.0
    for slide_id, (tiles, label) in slides.items():
        logit, attention = model(tiles)
        loss = F.binary_cross_entropy_with_logits(logit, label)
        opt.zero_grad()
        loss.backward()
        opt.step()
        running += loss.item()
        store.add(epoch, slide_id, attention)  # also
    return running / len(slides)


def run():
    torch.manual_seed(0)
    slides = {}
    for n in range(6):
        tiles = torch.randn(int(torch.randint(10, 20, ())), 12)
        if n % 2:
            tiles[:3] += 2.0
        slides[f"TCGA-{n:02d}"] = (tiles, torch.tensor([float(n % 2)]))
    model, store = GatedAttentionMIL(), HeatmapStore()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-4)
    for epoch in range(4):
        print(f"epoch {epoch} loss {train_epoch(model, opt, slides, store, epoch):.4f}")
    print(f"{len(store.maps)} maps, first row {store.draw(0, 'TCGA-01')[0]}")  # symptom
    return store


def verify(out):
    assert all(a.grad_fn is not None for a in out.maps.values())


TRUTH = Truth(
    fault="attention maps kept with their graphs",
    names=("attention", "maps"),
    repair=("self.maps[epoch, slide_id] = attention.detach()",),
)
