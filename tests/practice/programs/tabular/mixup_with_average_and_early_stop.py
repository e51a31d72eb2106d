"""A tabular net: periodic embeddings, mixup, an average of the weights, the best state kept as copies."""

import copy
import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Periodic(nn.Module):
    def __init__(self, features, frequencies=4):
        super().__init__()
        self.frequencies = nn.Parameter(torch.randn(features, frequencies) * 0.3)

    def forward(self, x):
        angle = 2 * math.pi * x.unsqueeze(-1) * self.frequencies
        return torch.cat([angle.sin(), angle.cos()], -1).flatten(1)


class TabNet(nn.Module):
    def __init__(self, cards=(4, 6), numeric=5, classes=3):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(card + 1, 3, padding_idx=0) for card in cards)
        self.periodic = Periodic(numeric)
        width = 3 * len(cards) + 8 * numeric
        self.mlp = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 24), nn.ReLU(), nn.Dropout(0.1))
        self.head = nn.Linear(24, classes)

    def embed(self, cat, num):
        return torch.cat([table(cat[:, k]) for k, table in enumerate(self.tables)] + [self.periodic(num)], 1)

    def forward(self, cat, num, mix=None):
        h = self.embed(cat, num)
        if mix is not None:
            share, other = mix
            h = share * h + (1 - share) * h[other]
        return self.head(self.mlp(h))


def run():
    torch.manual_seed(0)
    model = TabNet()
    average = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    cycle = torch.optim.lr_scheduler.OneCycleLR(opt, 3e-2, total_steps=6)
    best, kept = math.inf, None
    for step in range(5):
        cat, num, y = torch.randint(1, 5, (20, 2)), torch.randn(20, 5), torch.randint(3, (20,))
        share, other = torch.distributions.Beta(0.4, 0.4).sample().item(), torch.randperm(20)
        logits = model(cat, num, (share, other))
        loss = share * F.cross_entropy(logits, y) + (1 - share) * F.cross_entropy(logits, y[other])
        opt.zero_grad()
        loss.backward()
        opt.step()
        cycle.step()
        average.update_parameters(model)
        average.eval()
        with torch.no_grad():
            score = F.cross_entropy(average(cat, num), y).item()
        if score < best:
            best, kept = score, copy.deepcopy(average.module.state_dict())
    model.load_state_dict(kept)


TRUTH = Truth()
