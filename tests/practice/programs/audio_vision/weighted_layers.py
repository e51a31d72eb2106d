"""A probe on a frozen speech model: a learned mixture of all its layers, computed once and kept for later epochs."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Upstream(nn.Module):
    """Stands for a pretrained HuBERT."""

    def __init__(self, dim=12, layers=3):
        super().__init__()
        self.frontend = nn.Conv1d(1, dim, 8, stride=4)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, 2, 24, dropout=0.1, batch_first=True) for _ in range(layers)
        )

    def forward(self, wave):
        h = F.gelu(self.frontend(wave[:, None])).transpose(1, 2)
        states = [h]
        for layer in self.layers:
            states.append(layer(states[-1]))
        return torch.stack(states)


class Probe(nn.Module):
    def __init__(self, upstream, dim=12, classes=4):
        super().__init__()
        self.upstream = upstream.requires_grad_(False)
        self.layer_weights = nn.Parameter(torch.zeros(len(upstream.layers) + 1))
        self.classifier = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Dropout(0.1), nn.Linear(dim, classes))
        self.cache = {}

    def train(self, mode=True):
        super().train(mode)
        self.upstream.eval()  # its dropout stays off
        return self

    def features(self, key, wave):
        if key not in self.cache:
            with torch.no_grad():
                self.cache[key] = self.upstream(wave)
        return self.cache[key]

    def forward(self, key, wave):
        states = F.layer_norm(self.features(key, wave), (12,))
        mixed = torch.einsum("l,lbtd->btd", self.layer_weights.softmax(0), states)
        return self.classifier(mixed.mean(1))


def run():
    torch.manual_seed(0)
    probe = Probe(Upstream())
    frozen = [p.clone() for p in probe.upstream.parameters()]
    opt = torch.optim.Adam([p for p in probe.parameters() if p.requires_grad], lr=1e-2)
    data = [(f"batch-{i}", torch.randn(3, 64), torch.randint(0, 4, (3,))) for i in range(3)]
    for epoch in range(3):
        probe.train()
        for key, wave, y in data:
            loss = F.cross_entropy(probe(key, wave), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        probe.eval()
        with torch.inference_mode():
            acc = torch.cat([probe(k, w).argmax(1) == y for k, w, y in data]).float().mean()
        mixture = [round(w, 3) for w in probe.layer_weights.detach().softmax(0).tolist()]
        print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.2f} mixture {mixture}")
    return probe, frozen


TRUTH = Truth()


def verify(out):
    probe, frozen = out
    assert all(torch.equal(p, q) for p, q in zip(probe.upstream.parameters(), frozen))
    assert probe.layer_weights.grad is not None and not any(h.requires_grad for h in probe.cache.values())
