"""Batch-hard triplets: the hardest distances are collected in Python and made a tensor again."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 32), nn.PReLU(), nn.Linear(32, 8))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


def batch_hard(z, labels, margin=0.3):
    distances = torch.cdist(z, z)
    positives, negatives = [], []
    for row, label in enumerate(labels):
        same = labels == label
        positives.append(max(distances[row][same]))
        negatives.append(min(distances[row][~same]))
    hardest, nearest = torch.tensor(positives), torch.tensor(negatives)  # cause
    return F.relu(hardest - nearest + margin).mean()


def run():
    torch.manual_seed(0)
    model = Embedder()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(2):
        labels = torch.arange(4).repeat_interleave(3)
        x = torch.randn(12, 10) + labels[:, None]
        opt.zero_grad()
        loss = batch_hard(model(x), labels)
        loss.backward()  # symptom
        opt.step()


TRUTH = Truth(
    fault="torch.tensor copies the values out of the graph",
    raises="element 0 of tensors does not require grad",
    names=("torch.tensor",),
    repair=("hardest, nearest = torch.stack(positives), torch.stack(negatives)",),
)
