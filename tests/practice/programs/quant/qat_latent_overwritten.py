"""Quantization: the fake-quantized weights are written over the float ones before each forward."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class QConfig:
    bits: int = 3
    act_bits: int = 8
    lr: float = 1e-3
    steps: int = 4
    num_classes: int = 4


class FakeQuantSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        q = torch.round(x / scale)
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        return q.clamp(qmin, qmax) * scale

    @staticmethod
    def backward(ctx, grad):
        (mask,) = ctx.saved_tensors
        return grad * mask, None, None, None


class MinMaxObserver(nn.Module):
    def __init__(self, momentum=0.9):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("amax", torch.zeros(()))

    @torch.no_grad()
    def forward(self, x):
        now = x.abs().max()
        self.amax.copy_(now if self.amax == 0 else self.momentum * self.amax + (1 - self.momentum) * now)
        return self.amax


def weight_scale(w, bits):
    return w.detach().abs().amax() / (2 ** (bits - 1) - 1)


class QuantLinear(nn.Linear):
    def __init__(self, fin, fout, cfg):
        super().__init__(fin, fout)
        self.cfg = cfg
        self.observer = MinMaxObserver()
        self.register_buffer("w_scale", weight_scale(self.weight, cfg.bits))

    def quantized_weight(self):
        qmax = 2 ** (self.cfg.bits - 1) - 1
        return FakeQuantSTE.apply(self.weight, self.w_scale, -qmax, qmax)

    def forward(self, x):
        if self.training:
            self.observer(x)
            self.weight.data = self.quantized_weight().detach()  # cause
        weight = self.weight if self.training else self.quantized_weight()  # cause
        qmax = 2 ** (self.cfg.act_bits - 1) - 1
        scale = (self.observer.amax / qmax).clamp(min=1e-8)
        return F.linear(FakeQuantSTE.apply(x, scale, -qmax, qmax), weight, self.bias)


class QuantMLP(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.fc1, self.fc2 = QuantLinear(10, 16, cfg), QuantLinear(16, cfg.num_classes, cfg)
        self.bn = nn.BatchNorm1d(16)

    def forward(self, x):
        return self.fc2(F.relu(self.bn(self.fc1(x))))


@torch.no_grad()
def evaluate(model, x, y):
    model.eval()
    acc = (model(x).argmax(1) == y).float().mean().item()
    model.train()
    return acc


class QATTrainer:
    def __init__(self, cfg, model):
        self.cfg, self.model = cfg, model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, 20)
        self.snapshots = []

    def fit(self, x, y):
        for _ in range(self.cfg.steps):
            i = torch.randint(len(x), (16,))
            loss = F.cross_entropy(self.model(x[i]), y[i])
            self.snapshots.append(self.model.fc1.weight.detach().clone())
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
        evaluate(self.model, x, y)
        return self.snapshots


def run():
    torch.manual_seed(0)
    cfg = QConfig()
    x = torch.randn(64, 10)
    y = (x[:, :4]).argmax(1)
    return QATTrainer(cfg, QuantMLP(cfg)).fit(x, y)


def verify(snapshots):  # every step is rounded away before the next one
    assert all(torch.allclose(snapshots[0], s, atol=1e-6) for s in snapshots[1:])


TRUTH = Truth(
    fault="the latent float weights are replaced by their quantized values each forward: small steps are rounded away",
    names=("weight",),
    minor=True,
    repair=("", "weight = self.quantized_weight()"),
)
