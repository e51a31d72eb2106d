"""Fine-tunes through an exported encoder with a fresh head."""

import torch
import torch.nn as nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Encoder(nn.Module):
    def __init__(self, d=6):
        super().__init__()
        self.a, self.b = nn.Linear(d, 12), nn.Linear(12, 8)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.b(self.drop(torch.relu(self.a(x))))


def export(encoder, sample):
    encoder.eval()  # cause
    return torch.export.export(encoder, (sample,)).module()


def run():
    torch.manual_seed(0)
    encoder, head = Encoder(), nn.Linear(8, 1)
    traced = export(encoder, torch.randn(16, 6))
    features = torch.compile(traced, backend=BACKEND)
    opt = torch.optim.AdamW([*traced.parameters(), *head.parameters()], lr=1e-2)
    for _ in range(3):
        x = torch.randn(16, 6)
        loss = nn.functional.mse_loss(head(features(x)), x.sum(1, keepdim=True))
        opt.zero_grad()
        loss.backward()
        opt.step()
    x = torch.randn(16, 6)
    with torch.no_grad():
        return features(x), features(x)


def right(out):
    assert not torch.equal(*out), "no dropout in training"


TRUTH = Truth(
    fault="exported in eval mode, the graph has no dropout left for training",
    minor=True,
    repair=("encoder.train()",),
)
