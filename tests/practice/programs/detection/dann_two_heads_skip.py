"""A detector with a detached branch on purpose: the confidence head learns from features it does not change."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv1d(2, 6, 3, padding=1), nn.ReLU(), nn.Conv1d(6, 6, 3, padding=1))
        self.classify, self.confidence = nn.Linear(6, 3), nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 1))

    def forward(self, x):
        h = self.backbone(x).mean(-1)
        return self.classify(h), self.confidence(h.detach()).squeeze(-1)


def run():
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    history = {"loss": [], "acc": []}
    for _ in range(3):
        x, y = torch.randn(8, 2, 10), torch.randint(3, (8,))
        logits, conf = model(x)
        right = (logits.argmax(-1) == y).float()
        loss = F.cross_entropy(logits, y) + F.binary_cross_entropy_with_logits(conf, right)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history["loss"].append(loss.item())
        history["acc"].append(right.mean())
    return history


TRUTH = Truth()
