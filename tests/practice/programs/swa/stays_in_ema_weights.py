"""Weather nowcasting: weights are swapped for their average at validation, an early return skips the swap back, training goes on from the average."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Nowcaster(nn.Module):
    def __init__(self, cells=10):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3 * cells, 24), nn.GELU(), nn.Linear(24, cells))

    def forward(self, frames):
        return frames[:, -1] + self.net(frames.flatten(1))


class WeightAverage:
    def __init__(self, model, decay=0.9):
        self.decay = decay
        self.mean = {k: p.detach().clone() for k, p in model.named_parameters()}
        self.stored = None

    @torch.no_grad()
    def update(self, model):
        for k, p in model.named_parameters():
            self.mean[k].lerp_(p, 1 - self.decay)

    @torch.no_grad()
    def apply(self, model):
        self.stored = {k: p.detach().clone() for k, p in model.named_parameters()}
        for k, p in model.named_parameters():
            p.copy_(self.mean[k])

    @torch.no_grad()
    def restore(self, model):
        for k, p in model.named_parameters():
            p.copy_(self.stored[k])


def validate(model, average, frames, target, best):
    average.apply(model)
    model.eval()
    with torch.no_grad():
        score = F.mse_loss(model(frames), target).item()
    model.train()
    if score < best:
        return score  # cause
    average.restore(model)
    return best


def radar(n):
    start = torch.randn(n, 10)
    frames = torch.stack([start.roll(i, 1) for i in range(4)], 1)
    return frames[:, :3], frames[:, 3]


def run():
    torch.manual_seed(0)
    model = Nowcaster()
    average = WeightAverage(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    frames, target = radar(48)
    best = float("inf")
    jumps = []
    for _ in range(3):
        for _ in range(2):
            loss = F.mse_loss(model(frames), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            average.update(model)
        trained = [p.detach().clone() for p in model.parameters()]
        best = validate(model, average, frames, target, best)
        jumps.append(max((p.detach() - t).abs().max().item() for p, t in zip(model.parameters(), trained)))
    return jumps


def verify(outcome):
    assert max(outcome) > 1e-3


TRUTH = Truth(
    fault="after an improved score the averaged weights stay in the model",
    names=("restore",),
    repair=("best = score",),
)
