"""Feature generator: it yields inside no_grad, so the body of the training loop runs without grad as well."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Frontend(nn.Module):
    """A frozen feature extractor."""

    def __init__(self, dim=5, width=8):
        super().__init__()
        self.proj = nn.Linear(dim, width)

    def forward(self, x):
        return torch.relu(self.proj(x))


class Adapter(nn.Module):
    def __init__(self, width=8, classes=3):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.fc = nn.Linear(width, classes)

    def forward(self, h):
        return self.fc(self.norm(h))


def batches(n, size=16):
    g = torch.Generator().manual_seed(9)
    for _ in range(n):
        x = torch.randn(size, 5, generator=g)
        yield x, x[:, :3].argmax(1)


def features(frontend, loader):
    frontend.eval()
    with torch.no_grad():
        for x, y in loader:
            yield frontend(x), y  # cause


class Trainer:
    def __init__(self, adapter, lr=0.1):
        self.adapter = adapter
        self.optimizer = torch.optim.SGD(adapter.parameters(), lr=lr)
        self.skipped = 0

    def step(self, h, y):
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.adapter(h), y)
        if not loss.requires_grad:  # nothing to train in this phase
            self.skipped += 1
            return loss.item()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def run():
    torch.manual_seed(0)
    frontend, adapter = Frontend(), Adapter()
    trainer = Trainer(adapter)
    before = [p.detach().clone() for p in adapter.parameters()]
    losses = [trainer.step(h, y) for h, y in features(frontend, batches(4))]
    assert len(losses) == 4
    return trainer.skipped, [torch.equal(a, b) for a, b in zip(before, adapter.parameters())]


def verify(outcome):
    skipped, same = outcome
    assert skipped == 4 and all(same)


TRUTH = Truth(
    fault="the generator is suspended inside no_grad, whose effect lasts in the loop's body",
    names=("no_grad",),
    repair=("h = frontend(x)\nwith torch.enable_grad():\n    yield h, y",),
)
