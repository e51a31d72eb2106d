"""CLIP: the learned temperature is read with `.item()` and never learns."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Clip(nn.Module):
    def __init__(self):
        super().__init__()
        self.image, self.text = nn.Linear(6, 4), nn.Linear(5, 4)
        self.logit_scale = nn.Parameter(torch.tensor(2.6))

    def forward(self, image, text):
        a, b = F.normalize(self.image(image), dim=-1), F.normalize(self.text(text), dim=-1)
        scale = self.logit_scale.exp().clamp(max=100).item()  # cause
        return scale * a @ b.T


def run():
    torch.manual_seed(0)
    net = Clip()
    opt = torch.optim.AdamW(net.parameters(), 1e-2, weight_decay=0.0)
    for _ in range(2):
        logits = net(torch.randn(8, 6), torch.randn(8, 5))
        loss = F.cross_entropy(logits, torch.arange(8)) + F.cross_entropy(logits.T, torch.arange(8))
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net.logit_scale.item()


def verify(out):
    assert abs(out - 2.6) < 1e-6


TRUTH = Truth(
    fault="the temperature gets no gradient",
    names=("logit_scale",),
    repair=("scale = self.logit_scale.exp().clamp(max=100)",),
)
