"""Outputs of an epoch are kept for the metrics as detached copies, and the mean loss is a tensor without a graph."""

import torch
from torch import nn
from torch.nn import functional as F
from torchmetrics import MeanMetric
from torchmetrics.classification import MulticlassF1Score

from tests.practice.truth import Truth


class AverageMeter:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, val, n):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


def epoch(model, optimizer, batches, f1):
    meter, running, outputs = AverageMeter(), MeanMetric(), []
    loss_sum = torch.zeros(())
    for x, y in batches:
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter.update(loss.item(), len(x))
        running.update(loss.detach(), weight=len(x))
        loss_sum += loss.data
        outputs.append((logits.detach().cpu(), y))
        f1.update(logits.detach(), y)
    logits, labels = (torch.cat(t) for t in zip(*outputs))
    confusion = torch.zeros(3, 3, dtype=torch.long)
    confusion.index_put_((labels, logits.argmax(1)), torch.ones(len(labels), dtype=torch.long), accumulate=True)
    return meter.avg, running.compute().item(), (loss_sum / len(batches)).item(), confusion, logits


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 12), nn.ReLU(), nn.Linear(12, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    f1 = MulticlassF1Score(num_classes=3)
    rows = []
    for _ in range(2):
        batches = [(torch.randn(n, 5), torch.randint(3, (n,))) for n in (8, 8, 4)]
        rows.append(epoch(model, optimizer, batches, f1))
        print(f"loss {rows[-1][0]:.3f} f1 {f1.compute():.3f}")
        f1.reset()
    return model, rows


TRUTH = Truth()


def verify(out):
    model, rows = out
    for avg, mean, plain, confusion, logits in rows:
        assert abs(avg - mean) < 1e-5 and confusion.sum() == 20 and not logits.requires_grad and 0 < plain < 100
    assert all(p.grad.abs().sum() > 0 for p in model.parameters())
