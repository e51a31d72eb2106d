"""Vision: a Muon-like optimizer adds its update to reshape(...) of the weight, which for channels_last is a copy."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Stem(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.conv2 = nn.Conv2d(8, 8, 3, padding=1, stride=2, bias=False)
        self.proj = nn.Linear(8, 16, bias=False)
        self.head = nn.Linear(16, classes)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x)).mean((2, 3))
        return self.head(F.relu(self.proj(x)))


def newton_schulz(g, steps=5, eps=1e-7):
    a, b, c = 3.4445, -4.7750, 2.0315
    x = g / (g.norm() + eps)
    tall = x.size(0) > x.size(1)
    if tall:
        x = x.t()
    for _ in range(steps):
        s = x @ x.t()
        x = a * x + (b * s + c * s @ s) @ x
    return x.t() if tall else x


class Muon(torch.optim.Optimizer):
    """Orthogonalised momentum for weights of two dimensions or more."""

    def __init__(self, params, lr=0.02, momentum=0.9):
        super().__init__(params, dict(lr=lr, momentum=momentum))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if "momentum_buffer" not in state:
                    state["momentum_buffer"] = torch.zeros_like(p)
                buf = state["momentum_buffer"]
                buf.lerp_(p.grad, 1 - group["momentum"])
                update = newton_schulz(buf.reshape(len(buf), -1))
                scale = max(1, update.size(0) / update.size(1)) ** 0.5
                p.reshape(len(p), -1).add_(update, alpha=-group["lr"] * scale)  # cause


def split(model):
    matrices = [p for n, p in model.named_parameters() if p.ndim >= 2 and not n.startswith("head")]
    return Muon(matrices), torch.optim.AdamW(model.head.parameters(), lr=1e-2)


def run():
    torch.manual_seed(0)
    model = Stem().to(memory_format=torch.channels_last)
    muon, adam = split(model)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    for _ in range(3):
        x = torch.randn(8, 3, 8, 8).to(memory_format=torch.channels_last)
        loss = F.cross_entropy(model(x), torch.randint(0, 4, (8,)))
        loss.backward()
        for opt in (muon, adam):
            opt.step()
            opt.zero_grad()
    return {n: (p.detach() - before[n]).abs().max().item() for n, p in model.named_parameters()}


def verify(outcome):
    assert outcome["conv1.weight"] == 0 and outcome["conv2.weight"] == 0
    assert outcome["proj.weight"] > 0 and outcome["head.weight"] > 0


TRUTH = Truth(
    fault="reshape of a channels_last weight copies it: the update goes into the copy and the convolutions stay as they are",
    names=("conv1", "reshape"),
    repair=('p.add_(update.view(p.shape), alpha=-group["lr"] * scale)',),
)
