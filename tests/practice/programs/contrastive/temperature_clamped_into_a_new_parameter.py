"""The temperature is clamped into a new nn.Parameter; the optimizer keeps the first one."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Towers(nn.Module):
    def __init__(self):
        super().__init__()
        self.image, self.text = nn.Linear(6, 4), nn.Linear(5, 4)
        self.scale = nn.Parameter(torch.tensor(2.6))

    def forward(self, x, y):
        x, y = F.normalize(self.image(x), dim=1), F.normalize(self.text(y), dim=1)
        return self.scale.exp() * x @ y.T


def run():
    torch.manual_seed(0)
    model = Towers()
    opt = torch.optim.Adam(model.parameters(), lr=0.1)
    held = model.scale
    for _ in range(3):
        logits = model(torch.randn(8, 6), torch.randn(8, 5))
        loss = F.cross_entropy(logits, torch.arange(8))
        opt.zero_grad()
        loss.backward()
        opt.step()
        model.scale = nn.Parameter(model.scale.detach().clamp(0.0, 4.6))  # cause
    return held is model.scale


def verify(out):
    assert out is False


TRUTH = Truth(
    fault="the optimizer trains a parameter that the model no longer has",
    names=("scale",),
    repair=("model.scale.data.clamp_(0.0, 4.6)",),
)
