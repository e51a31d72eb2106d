"""Prototypical network: the prototypes go through Python lists, so the support set teaches nothing."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def prototypes(features, labels, ways):
    return torch.tensor([features[labels == k].mean(0).tolist() for k in range(ways)])  # cause


def run():
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 8))
    opt = torch.optim.Adam(encoder.parameters(), 1e-3)
    accuracies = []
    for _ in range(4):
        centres = 2 * torch.randn(3, 6)
        labels = torch.arange(3).repeat_interleave(4)
        support = centres[labels] + torch.randn(12, 6)
        query = centres[labels] + torch.randn(12, 6)
        protos = prototypes(encoder(support), labels, 3)
        logits = -torch.cdist(encoder(query), protos).pow(2)
        loss = F.cross_entropy(logits, labels)
        opt.zero_grad()
        loss.backward()
        opt.step()
        accuracies.append((logits.argmax(1) == labels).float().mean().item())
    return protos, accuracies


def verify(out):
    assert not out[0].requires_grad


TRUTH = Truth(
    fault="no gradient flows through the prototypes",
    names=("tolist",),
    repair=("return torch.stack([features[labels == k].mean(0) for k in range(ways)])",),
)
