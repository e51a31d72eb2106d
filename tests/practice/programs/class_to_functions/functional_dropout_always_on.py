"""A class to functions: nn.Dropout became F.dropout(x, p), whose training flag is True unless told; evaluation is noisy."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def feed_forward(x, w1, b1, w2, b2, rate, training):
    x = F.gelu(F.linear(x, w1, b1))
    x = F.dropout(x, rate)  # cause
    return F.linear(x, w2, b2)


class Block(nn.Module):
    def __init__(self, dim=10, rate=0.3):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 2 * dim)
        self.down = nn.Linear(2 * dim, dim)
        self.rate = rate

    def forward(self, x):
        return x + feed_forward(
            self.norm(x),
            self.up.weight,
            self.up.bias,
            self.down.weight,
            self.down.bias,
            self.rate,
            self.training,
        )


class Classifier(nn.Module):
    def __init__(self, dim=10, classes=3):
        super().__init__()
        self.blocks = nn.Sequential(Block(dim), Block(dim))
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        return self.head(self.blocks(x))


@torch.no_grad()
def predict(model, x):
    model.eval()
    return model(x)


def run():
    torch.manual_seed(0)
    model = Classifier()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    model.train()
    for _ in range(3):
        x, y = torch.randn(8, 10), torch.randint(0, 3, (8,))
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    x = torch.randn(8, 10)
    return predict(model, x), predict(model, x)


def verify(outcome):
    first, second = outcome
    assert not torch.equal(first, second)


TRUTH = Truth(
    fault="dropout stays on in eval mode: F.dropout is not given the training flag",
    names=("dropout",),
    repair=("x = F.dropout(x, rate, training=training)",),
)
