"""Diffusion: the average of the weights is kept in bfloat16 like the model, and each of its small steps is rounded away."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Unet(nn.Module):
    def __init__(self, channels=8):
        super().__init__()
        self.inp = nn.Conv1d(1, channels, 3, padding=1)
        self.mid = nn.Conv1d(channels, channels, 3, padding=1)
        self.out = nn.Conv1d(channels, 1, 3, padding=1)

    def forward(self, x, t):
        h = F.silu(self.inp(x)) * (1 + t[:, None, None])
        return self.out(F.silu(self.mid(h)) + h)


class WeightAverage:
    def __init__(self, model, decay=0.9995):
        self.decay = decay
        self.model = copy.deepcopy(model).eval()  # cause
        self.model.requires_grad_(False)
        self.updates = 0

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        for avg, p in zip(self.model.parameters(), model.parameters()):
            avg.mul_(self.decay).add_(p.to(avg.dtype), alpha=1 - self.decay)  # also


class MasterWeights:
    """float32 copies that the optimizer steps; the model sees their bfloat16 image."""

    def __init__(self, model, lr):
        self.model = model
        self.master = [p.detach().float().clone().requires_grad_(True) for p in model.parameters()]
        self.optimizer = torch.optim.Adam(self.master, lr=lr)

    def step(self):
        for m, p in zip(self.master, self.model.parameters()):
            m.grad = p.grad.float()
        self.optimizer.step()
        with torch.no_grad():
            for m, p in zip(self.master, self.model.parameters()):
                p.copy_(m)
        self.model.zero_grad(set_to_none=True)


def noisy(n=8, length=16, dtype=torch.bfloat16):
    x, noise, t = torch.randn(n, 1, length), torch.randn(n, 1, length), torch.rand(n)
    a = t[:, None, None]
    return ((1 - a) * x + a * noise).to(dtype), noise.to(dtype), t.to(dtype)


def run():
    torch.manual_seed(0)
    unet = Unet().to(torch.bfloat16)
    with torch.no_grad():
        unet.mid.weight.fill_(0.25)
    average = WeightAverage(unet)
    weights = MasterWeights(unet, lr=2e-2)
    start = unet.mid.weight.detach().float().clone()
    for _ in range(4):
        x, noise, t = noisy()
        F.mse_loss(unet(x, t).float(), noise.float()).backward()
        weights.step()
        average.update(unet)
    return start, unet.mid.weight.detach().float(), average.model.mid.weight.float(), average.updates


def verify(outcome):
    start, trained, averaged, updates = outcome
    assert updates == 4
    assert not torch.equal(start, trained)
    assert torch.equal(start, averaged)


TRUTH = Truth(
    fault="the average is bfloat16: a step of (1 - decay) is below its resolution, and the average stays at the start",
    names=("average",),
    values=True,
    repair=("self.model = copy.deepcopy(model).float().eval()",),
)
