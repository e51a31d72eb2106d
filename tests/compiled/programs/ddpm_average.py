"""Diffusion: a compiled denoiser is validated with averaged weights, which are swapped in for that and out again."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="where the validation improves it returns before the weights are restored: training goes on with the average",
    names=("restore", "copy_to", "validate", "average"),
    repair=("average.restore(net)\nreturn score",),
)


class Denoiser(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.time = nn.Embedding(10, width)
        self.first, self.last = nn.Linear(2, width), nn.Linear(width, 2)

    def forward(self, x, t):
        return self.last(F.silu(self.first(x) + self.time(t)))


class Average:
    def __init__(self, net, decay=0.9):
        self.decay = decay
        self.shadow = [p.detach().clone() for p in net.parameters()]

    @torch.no_grad()
    def update(self, net):
        torch._foreach_lerp_(self.shadow, list(net.parameters()), 1 - self.decay)

    @torch.no_grad()
    def copy_to(self, net):
        self.saved = [p.detach().clone() for p in net.parameters()]
        torch._foreach_copy_(list(net.parameters()), self.shadow)

    @torch.no_grad()
    def restore(self, net):
        torch._foreach_copy_(list(net.parameters()), self.saved)


def diffusion_loss(net, x0):
    t = torch.randint(10, (len(x0),))
    noise, level = torch.randn_like(x0), ((t + 1) / 11)[:, None]
    return F.mse_loss(net((1 - level).sqrt() * x0 + level.sqrt() * noise, t), noise)


@torch.no_grad()
def validate(net, forward, average, held_out, best):
    average.copy_to(net)  # also
    score = diffusion_loss(forward, held_out).item()
    if score < best:
        return score  # cause
    average.restore(net)
    return best


def setup():
    torch.manual_seed(0)


def run():
    net = Denoiser()
    forward = torch.compile(net, backend=BACKEND)
    average = Average(net)
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-2)
    held_out, best, jumps = torch.randn(64, 2) / 4, float("inf"), []
    for _ in range(4):
        for _ in range(2):
            loss = diffusion_loss(forward, torch.randn(16, 2) / 4)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            average.update(net)
        trained = net.first.weight.detach().clone()
        best = validate(net, forward, average, held_out, best)
        jumps.append((net.first.weight.detach() - trained).abs().max().item())  # symptom
    return jumps


def verify(outcome):
    assert outcome[0] > 1e-3
