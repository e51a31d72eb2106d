"""Prototypical network: support and query both carry gradients; accuracies are numbers."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def prototypes(features, labels, ways):
    return torch.stack([features[labels == k].mean(0) for k in range(ways)])


def run():
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 8))
    scale = nn.Parameter(torch.tensor(1.0))
    opt = torch.optim.Adam([*encoder.parameters(), scale], 1e-3)
    accuracies = []
    for _ in range(4):
        centres = 2 * torch.randn(3, 6)
        labels = torch.arange(3).repeat_interleave(4)
        protos = prototypes(encoder(centres[labels] + torch.randn(12, 6)), labels, 3)
        query = encoder(centres[labels] + torch.randn(12, 6))
        logits = -scale * torch.cdist(query, protos).pow(2)
        loss = F.cross_entropy(logits, labels)
        opt.zero_grad()
        loss.backward()
        opt.step()
        accuracies.append((logits.argmax(1) == labels).float().mean().item())
        centroid_norms = torch.tensor(protos.norm(dim=1).tolist())
    return accuracies, centroid_norms


TRUTH = Truth()
