"""Early exit: the loss of an exit replaces that of the exit before, so only the last exit learns."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Stage(nn.Module):
    def __init__(self, dim, classes):
        super().__init__()
        self.block = nn.Sequential(nn.Linear(dim, dim), nn.LayerNorm(dim), nn.GELU())
        self.exit = nn.Linear(dim, classes)

    def forward(self, h):
        h = h + self.block(h)
        return h, self.exit(h)


class AnytimeNet(nn.Module):
    def __init__(self, dim=12, classes=3, stages=3):
        super().__init__()
        self.stages = nn.ModuleList(Stage(dim, classes) for _ in range(stages))

    def forward(self, x):
        logits = []
        for stage in self.stages:
            x, out = stage(x)
            logits.append(out)
        return logits

    @torch.no_grad()
    def predict(self, x, confidence=0.8):
        for n, logits in enumerate(self(x)):
            p, label = logits.softmax(-1).max(-1)
            if p.min() > confidence:
                break
        return label, n


def anytime_loss(logits, y, weights):
    loss = torch.zeros(())
    for out, w in zip(logits, weights):
        loss = w * F.cross_entropy(out, y)  # cause
    return loss / sum(weights)


def run():
    torch.manual_seed(0)
    model = AnytimeNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    x = torch.randn(48, 12)
    y = x[:, :3].argmax(1)
    start = [s.exit.weight.detach().clone() for s in model.stages]
    for _ in range(4):
        loss = anytime_loss(model(x), y, weights=(0.3, 0.6, 1.0))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.predict(x[:4])
    return [(s.exit.weight.detach() - w).abs().max().item() for s, w in zip(model.stages, start)]


def verify(outcome):
    first, second, last = outcome
    assert first == 0 and second == 0 and last > 0


TRUTH = Truth(
    fault="= in place of +=: exits 0 and 1 have no loss",
    names=("exit",),
    repair=("loss = loss + w * F.cross_entropy(out, y)",),
)
