"""A detector with averaged weights: the compiled averaging works on tensors that share the model's memory."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Ema:
    def __init__(self, model, decay=0.9):
        self.decay = decay
        self.average = {name: p.detach() for name, p in model.named_parameters()}  # cause

    def update(self, model):
        self.blend(list(self.average.values()), list(model.parameters()), self.decay)

    @staticmethod
    @torch.compile(backend=BACKEND)
    @torch.no_grad()
    def blend(averages, params, decay):
        for a, p in zip(averages, params):
            a.lerp_(p.detach(), 1 - decay)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Conv2d(3, 8, 3, padding=1)
        self.boxes, self.scores = nn.Conv2d(8, 4, 1), nn.Conv2d(8, 1, 1)

    def forward(self, x):
        h = F.silu(self.backbone(x))
        return self.boxes(h), self.scores(h)


def run():
    torch.manual_seed(0)
    model = Detector()
    forward = torch.compile(model, backend=BACKEND)
    ema = Ema(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(4):
        x = torch.randn(2, 3, 8, 8)
        boxes, scores = forward(x)
        wanted = (x.mean(1, keepdim=True) > 0.3).float()
        loss = F.smooth_l1_loss(boxes, x[:, :1].expand(-1, 4, -1, -1))
        loss = loss + F.binary_cross_entropy_with_logits(scores, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update(model)
    return {name: (p - ema.average[name]).abs().max().item() for name, p in model.named_parameters()}


def verify(outcome):
    # an average lags behind
    assert all(gap == 0 for gap in outcome.values())


TRUTH = Truth(
    fault="detach() shares memory: the average is the model itself",
    names=("average",),
    repair=("self.average = {name: p.detach().clone() for name, p in model.named_parameters()}",),
)
