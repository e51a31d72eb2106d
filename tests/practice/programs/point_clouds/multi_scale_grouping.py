"""Multi-scale grouping of point neighbourhoods: one stack of layers a radius, and the stacks stay as initialised."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def ball_query(xyz, centres, radius, k):
    """The `k` nearest of each centre; those outside the ball are replaced by the nearest."""
    distance, index = torch.cdist(centres, xyz).topk(k, largest=False)
    return torch.where(distance > radius, index[..., :1], index)


class MultiScaleGrouping(nn.Module):
    def __init__(self, radii, samples, widths):
        super().__init__()
        self.radii, self.samples = radii, samples
        self.conv_blocks = []  # cause
        for stack in widths:
            layers, last = [], 3
            for width in stack:
                layers += [nn.Conv2d(last, width, 1), nn.GroupNorm(2, width), nn.ReLU()]
                last = width
            self.conv_blocks.append(nn.Sequential(*layers))

    def forward(self, xyz):
        centres = xyz[:, ::4]
        pooled = []
        for radius, k, block in zip(self.radii, self.samples, self.conv_blocks, strict=True):
            index = ball_query(xyz, centres, radius, k)
            rows = torch.arange(len(xyz)).view(-1, 1, 1)
            local = xyz[rows, index] - centres.unsqueeze(2)
            pooled.append(block(local.permute(0, 3, 1, 2)).amax(-1))
        return torch.cat(pooled, 1)


class PartSegmenter(nn.Module):
    def __init__(self, parts=3):
        super().__init__()
        self.msg = MultiScaleGrouping([0.3, 0.8], [4, 8], [[8, 8], [8, 16]])
        self.head = nn.Sequential(nn.Conv1d(24, 16, 1), nn.ReLU(), nn.Conv1d(16, parts, 1))

    def forward(self, xyz):
        return self.head(self.msg(xyz))


def iou(logits, label, parts=3):
    guess = logits.argmax(1)
    hits = [
        ((guess == p) & (label == p)).sum() / ((guess == p) | (label == p)).sum().clamp(min=1) for p in range(parts)
    ]
    return torch.stack(hits).mean().item()


def run(steps=4):
    torch.manual_seed(0)
    model = PartSegmenter()
    print(f"{sum(p.numel() for p in model.parameters())} parameters")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    before = [b[0].weight.detach().clone() for b in model.msg.conv_blocks]
    for step in range(steps):
        xyz = torch.rand(2, 32, 3) * 2 - 1
        label = (xyz[:, ::4, 2] * 1.5 + 1.5).long().clamp(0, 2)
        logits = model(xyz)
        loss = F.cross_entropy(logits, label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # symptom
        print(f"step {step} ce {loss.item():.4f} iou {iou(logits.detach(), label):.2f}")
    return model, before


def verify(out):
    model, before = out
    assert all(torch.equal(b[0].weight, w) for b, w in zip(model.msg.conv_blocks, before, strict=True))


TRUTH = Truth(
    fault="the stacks are kept in a plain list, so their parameters are not the model's",
    names=("conv_blocks",),
    repair=("self.conv_blocks = nn.ModuleList()",),
)
