"""Quantisation-aware training: straight-through Function with clipped range, observers in no_grad, norms frozen half way: healthy."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class FakeQuantize(torch.autograd.Function):
    """Rounds forward; backward passes what was in range and nothing else."""

    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        q = x / scale
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        return q.round_().clamp_(qmin, qmax).mul_(scale)

    @staticmethod
    def backward(ctx, grad):
        (inside,) = ctx.saved_tensors
        return grad * inside, None, None, None


class Observer(nn.Module):
    def __init__(self, bits=8, momentum=0.1):
        super().__init__()
        self.register_buffer("peak", torch.tensor(0.0))
        self.levels, self.momentum, self.enabled = 2 ** (bits - 1) - 1, momentum, True

    def forward(self, x):
        if self.enabled and self.training:
            with torch.no_grad():
                now = x.abs().max()
                self.peak.copy_(torch.where(self.peak == 0, now, torch.lerp(self.peak, now, self.momentum)))
        return FakeQuantize.apply(x, self.peak / self.levels, -self.levels - 1, self.levels)


class QConvBN(nn.Module):
    """Convolution with the norm folded into the weight before quantising it."""

    def __init__(self, i, o):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o)
        self.weight_observer, self.act_observer = Observer(4), Observer(8)
        self.frozen = False

    def forward(self, x):
        if self.training and not self.frozen:
            with torch.no_grad():
                self.bn(self.conv(x))  # only for the running statistics
        std = (self.bn.running_var + self.bn.eps).sqrt()
        factor = self.bn.weight / std
        w = self.weight_observer(self.conv.weight * factor.view(-1, 1, 1, 1))
        b = self.bn.bias - self.bn.running_mean * factor
        return self.act_observer(F.relu(F.conv2d(x, w, b, padding=1)))

    def freeze(self):
        self.frozen = True
        self.weight_observer.enabled = self.act_observer.enabled = False


class QNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.layers = nn.Sequential(QConvBN(1, 6), QConvBN(6, 8))
        self.fc = nn.Linear(8, classes)

    def forward(self, x):
        return self.fc(self.layers(x).mean((2, 3)))


def run():
    torch.manual_seed(0)
    model = QNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    history = []
    for step in range(5):
        model.train()
        if step == 3:
            for layer in model.layers:
                layer.freeze()
        x, y = torch.randn(8, 1, 6, 6), torch.randint(0, 3, (8,))
        before = {k: v.clone() for k, v in model.state_dict().items()}
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        history.append({k for k, v in model.state_dict().items() if not torch.equal(before[k], v)})
    model.eval()
    with torch.no_grad():
        once, again = model(x), model(x)
    params = {n for n, _ in model.named_parameters()}
    return params, history, torch.equal(once, again)


def verify(outcome):
    params, history, stable = outcome
    assert stable and all(params <= moved for moved in history)
    assert all("layers.0.bn.running_mean" in moved and "layers.0.act_observer.peak" in moved for moved in history[1:3])
    assert all(moved == params for moved in history[3:])


TRUTH = Truth()
