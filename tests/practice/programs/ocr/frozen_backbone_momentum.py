"""OCR fine-tuning: backbone frozen after warm-up by requires_grad_(False), but its last gradients stay and the optimizer goes on using them."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3, padding=1)
        self.conv2 = nn.Conv2d(6, 8, 3, padding=1, stride=2)

    def forward(self, x):
        return F.relu(self.conv2(F.relu(self.conv1(x))))


class GlyphReader(nn.Module):
    def __init__(self, glyphs=10):
        super().__init__()
        self.backbone = Backbone()
        self.head = nn.Linear(8 * 16, glyphs)

    def forward(self, x):
        return self.head(self.backbone(x).flatten(1))

    def set_trainable(self, backbone):
        self.backbone.requires_grad_(backbone)


def batches(n, size=16):
    for _ in range(n):
        yield torch.rand(size, 1, 8, 8), torch.randint(10, (size,))


def train_phase(model, optimizer, steps, trainable):
    model.set_trainable(trainable)  # cause
    for images, labels in batches(steps):
        loss = F.cross_entropy(model(images), labels)
        for p in model.parameters():
            if p.requires_grad:  # also
                p.grad = None
        loss.backward()
        optimizer.step()


def run():
    torch.manual_seed(0)
    model = GlyphReader()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    train_phase(model, optimizer, steps=2, trainable=True)
    at_freeze = {k: v.clone() for k, v in model.backbone.state_dict().items()}
    train_phase(model, optimizer, steps=3, trainable=False)
    return at_freeze, model.backbone.state_dict()


def verify(outcome):
    at_freeze, now = outcome
    assert any(not torch.equal(at_freeze[k], now[k]) for k in now)


TRUTH = Truth(
    fault="the frozen backbone keeps its stale .grad and is stepped with it again and again",
    names=("backbone",),
    repair=("model.set_trainable(trainable)\noptimizer.zero_grad()",),
)
