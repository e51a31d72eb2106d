"""SupCon: an anchor whose class is alone in the batch has no positive pair, and its mean is 0/0."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class SupConLoss(nn.Module):
    def __init__(self, temperature=0.07):
        super().__init__()
        self.temperature = temperature

    def forward(self, features, labels):
        n = len(features)
        self_mask = torch.eye(n, dtype=torch.bool)
        positives = (labels[:, None] == labels[None]) & ~self_mask
        logits = features @ features.t() / self.temperature
        logits = logits - logits.max(1, keepdim=True).values.detach()
        denom = torch.logsumexp(logits.masked_fill(self_mask, -1e9), 1, keepdim=True)
        log_prob = logits - denom
        mean_log_prob = (positives * log_prob).sum(1) / positives.sum(1)  # cause
        return -mean_log_prob.mean()


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 32), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 8))

    def forward(self, x):
        return F.normalize(self.head(self.body(x)), dim=1)


def batches(n, size=12, classes=8):
    centers = torch.randn(classes, 10)
    for _ in range(n):
        y = torch.randint(0, classes, (size,))
        yield centers[y] + 0.3 * torch.randn(size, 10), y


def run():
    torch.manual_seed(1)
    model, criterion = Encoder(), SupConLoss()
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for x, y in batches(4):
        loss = criterion(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return model


def verify(model):
    assert model.body[0].weight.isnan().any()


TRUTH = Truth(
    values=True,
    fault="division by the number of positives, which is zero for a lone class",
    names=("positives",),
    repair=("mean_log_prob = (positives * log_prob).sum(1) / positives.sum(1).clamp(min=1)",),
)
