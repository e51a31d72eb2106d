"""Super-resolution: the perceptual loss reads features from a forward hook that stores output.detach(); only the pixel loss is left."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Judge(nn.Module):
    """Stands for the first layers of VGG; frozen."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(1, 6, 3, padding=1), nn.ReLU(), nn.Conv1d(6, 8, 3, padding=1), nn.ReLU()
        )

    def forward(self, x):
        return self.features(x)


class PerceptualLoss(nn.Module):
    def __init__(self, judge, layers=(1, 3)):
        super().__init__()
        self.judge = judge.requires_grad_(False).eval()
        self.seen = {}
        for i in layers:
            self.judge.features[i].register_forward_hook(self.keeper(i))

    def keeper(self, key):
        def hook(module, args, output):
            self.seen[key] = output.detach()  # cause

        return hook

    def activations(self, x):
        self.judge(x)
        return dict(self.seen)

    def forward(self, made, real):
        a, b = self.activations(made), self.activations(real)
        return sum(F.l1_loss(a[k], b[k]) for k in a)


class Upsampler(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Conv1d(1, 8, 3, padding=1)
        self.tail = nn.Conv1d(8, 2, 3, padding=1)

    def forward(self, low):
        h = self.tail(F.relu(self.body(low)))
        return h.transpose(1, 2).reshape(low.size(0), 1, -1)


def signals(n):
    t = torch.arange(16) / 16
    high = torch.sin(2 * torch.pi * (1 + 2 * torch.rand(n, 1)) * t)[:, None]
    return high[..., ::2], high


def run():
    torch.manual_seed(0)
    net, perceptual = Upsampler(), PerceptualLoss(Judge())
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    share = []
    for _ in range(3):
        low, high = signals(12)
        made = net(low)
        pixel = F.l1_loss(made, high)
        style = perceptual(made, high)
        (from_pixels,) = torch.autograd.grad(pixel, net.tail.weight, retain_graph=True)
        optimizer.zero_grad()
        (pixel + 10.0 * style).backward()
        share.append((net.tail.weight.grad - from_pixels).norm().item())
        optimizer.step()
    return share


def verify(outcome):
    assert max(outcome) == 0.0


TRUTH = Truth(
    fault="the hook stores detached features: the perceptual loss has a value but no gradient",
    names=("detach", "hook"),
    repair=("self.seen[key] = output",),
)
