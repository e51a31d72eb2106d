"""Temporal shift module with a Function of its own: the backward shifts the way the forward does."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def shift(x, fold, reverse=False):
    """Move the first `fold` channels one frame back and the next `fold` one frame on; x: (N, T, C, H, W)."""
    out = torch.zeros_like(x)
    back, on = slice(0, fold), slice(fold, 2 * fold)
    if reverse:
        back, on = on, back
    out[:, :-1, back] = x[:, 1:, back]
    out[:, 1:, on] = x[:, :-1, on]
    out[:, :, 2 * fold :] = x[:, :, 2 * fold :]
    return out


class ShiftFunction(torch.autograd.Function):
    """Keeps nothing for the backward."""

    @staticmethod
    def forward(ctx, x, fold):
        ctx.fold = fold
        return shift(x, fold)

    @staticmethod
    def backward(ctx, grad_output):
        return shift(grad_output, ctx.fold), None  # cause


class ShiftedBlock(nn.Module):
    def __init__(self, ch, segments, div=4):
        super().__init__()
        self.segments, self.fold = segments, ch // div
        self.conv = nn.Conv2d(ch, ch, 3, padding=1)

    def forward(self, x):
        nt, c, h, w = x.shape
        clips = x.view(nt // self.segments, self.segments, c, h, w)
        shifted = ShiftFunction.apply(clips, self.fold).view(nt, c, h, w)
        return x + F.relu(self.conv(shifted))


class VideoNet(nn.Module):
    def __init__(self, segments=4, ch=8, classes=3):
        super().__init__()
        self.segments = segments
        self.stem = nn.Conv2d(3, ch, 3, stride=2, padding=1)
        self.blocks = nn.Sequential(ShiftedBlock(ch, segments), ShiftedBlock(ch, segments))
        self.fc = nn.Linear(ch, classes)

    def forward(self, video):
        x = self.blocks(self.stem(video.flatten(0, 1)))
        logits = self.fc(x.mean((2, 3)))
        return logits.view(len(video), self.segments, -1).mean(1)  # consensus of the segments


def run():
    torch.manual_seed(0)
    model = VideoNet()
    opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    for step in range(4):
        video, y = torch.rand(3, 4, 3, 8, 8), torch.randint(0, 3, (3,))
        loss = F.cross_entropy(model(video), y, label_smoothing=0.1)
        opt.zero_grad()
        loss.backward()  # symptom
        opt.step()
        print(f"step {step} loss {loss.item():.4f}")
    return model


def verify(out):
    x = torch.randn(1, 4, 8, 2, 2, requires_grad=True)
    upstream = torch.randn(1, 4, 8, 2, 2)
    (got,) = torch.autograd.grad(ShiftFunction.apply(x, 2), x, upstream)
    (want,) = torch.autograd.grad(shift(x, 2), x, upstream)
    assert not torch.allclose(got, want)


TRUTH = Truth(
    fault="the backward of the shift is the shift itself, not its reverse",
    names=("ShiftFunction",),
    repair=("return shift(grad_output, ctx.fold, reverse=True), None",),
)
