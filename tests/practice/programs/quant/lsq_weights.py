"""Quantisation-aware training with a learned step size: round() has a gradient of zero, the weights stand still."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class LearnedStepQuantizer(nn.Module):
    def __init__(self, bits=4):
        super().__init__()
        self.qmin, self.qmax = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        self.step = nn.Parameter(torch.tensor(0.1))
        self.register_buffer("initialised", torch.tensor(False))

    @torch.no_grad()
    def init_from(self, w):
        self.step.copy_(2 * w.abs().mean() / self.qmax**0.5)
        self.initialised.fill_(True)

    def grad_scale(self, x, factor):
        return (x - x * factor).detach() + x * factor

    def forward(self, w):
        if not self.initialised:
            self.init_from(w)
        step = self.grad_scale(self.step, 1.0 / (w.numel() * self.qmax) ** 0.5)
        levels = (w / step).clamp(self.qmin, self.qmax)
        return torch.round(levels) * step  # cause


class QuantLinear(nn.Linear):
    def __init__(self, i, o, bits=4):
        super().__init__(i, o)
        self.quant = LearnedStepQuantizer(bits)

    def forward(self, x):
        return F.linear(x, self.quant(self.weight), self.bias)


class QuantMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.norm, self.fc2 = QuantLinear(10, 32), nn.LayerNorm(32), QuantLinear(32, 3)

    def forward(self, x):
        return self.fc2(F.relu(self.norm(self.fc1(x))))


def param_groups(model):
    steps = [p for n, p in model.named_parameters() if n.endswith("step")]
    rest = [p for n, p in model.named_parameters() if not n.endswith("step")]
    return [{"params": rest}, {"params": steps, "lr": 1e-4}]


def run():
    torch.manual_seed(0)
    model = QuantMLP()
    optimizer = torch.optim.Adam(param_groups(model), lr=1e-2)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    for _ in range(4):
        x = torch.randn(32, 10)
        y = (x[:, :3] + 0.1 * torch.randn(32, 3)).argmax(-1)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {
        n: torch.equal(before[n], p.detach()) for n, p in model.named_parameters() if n.endswith((".weight", ".bias"))
    }


def verify(still):
    assert still["fc1.weight"] and still["fc2.weight"]
    assert not still["fc1.bias"] and not still["norm.weight"]


TRUTH = Truth(
    fault="round() without a straight-through estimator: the quantised weights get gradients of zero",
    names=("round", "fc1.weight", "fc2.weight"),
    repair=("return (levels + (torch.round(levels) - levels).detach()) * step",),
)
