"""Edge: quantisation-aware training rounds without a straight-through estimator, so the weights get a gradient of zero."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class FakeQuantize(nn.Module):
    """Symmetric, per tensor, with a running estimate of the range."""

    def __init__(self, bits=4, momentum=0.1):
        super().__init__()
        self.levels = 2 ** (bits - 1) - 1
        self.momentum = momentum
        self.register_buffer("range", torch.tensor(0.0))

    def forward(self, w):
        if self.training:
            with torch.no_grad():
                peak = w.abs().max()
                self.range.copy_(torch.where(self.range == 0, peak, self.range.lerp(peak, self.momentum)))
        scale = self.range / self.levels
        q = torch.round(w / scale).clamp(-self.levels, self.levels) * scale  # also
        return q  # cause


class QLinear(nn.Linear):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.quantize = FakeQuantize()

    def forward(self, x):
        return F.linear(x, self.quantize(self.weight), self.bias)


class KeywordNet(nn.Module):
    def __init__(self, bins=10, classes=4):
        super().__init__()
        self.inp = nn.Linear(bins, 16)  # first and last layer stay in float
        self.hidden = nn.ModuleList([QLinear(16, 16) for _ in range(2)])
        self.out = nn.Linear(16, classes)

    def forward(self, x):
        x = F.relu(self.inp(x))
        for layer in self.hidden:
            x = F.relu(layer(x))
        return self.out(x)


def train(model, optimizer, steps=4):
    model.train()
    for _ in range(steps):
        x, y = torch.randn(16, 10), torch.randint(0, 4, (16,))
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def run():
    torch.manual_seed(0)
    model = KeywordNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    train(model, optimizer)
    return {n: (p.detach() - before[n]).abs().max().item() for n, p in model.named_parameters()}


def verify(outcome):
    for name, moved in outcome.items():
        quantised = name.startswith("hidden") and name.endswith("weight")
        assert (moved == 0.0) == quantised, name


TRUTH = Truth(
    fault="round has derivative zero: the quantised weights never move",
    names=("hidden", "round"),
    repair=("return w + (q - w).detach()",),
)
