"""WaveNet-like stack: weight_norm is applied after the optimizer was built, which replaces every weight by two new parameters."""

import torch
import torch.nn as nn
from torch.nn.utils.parametrizations import weight_norm

from tests.practice.truth import Truth


class DilatedStack(nn.Module):
    def __init__(self, ch=4, n_layers=2):
        super().__init__()
        self.pre = nn.Conv1d(1, ch, 1)
        self.filters = nn.ModuleList(nn.Conv1d(ch, 2 * ch, 2, dilation=2**i) for i in range(n_layers))
        self.mix = nn.ModuleList(nn.Conv1d(ch, ch, 1) for _ in range(n_layers))
        self.post = nn.Conv1d(ch, 1, 1)

    def forward(self, x):
        h = self.pre(x)
        for f, m in zip(self.filters, self.mix):
            pad = f.dilation[0]
            a, b = f(nn.functional.pad(h, (pad, 0))).chunk(2, 1)
            h = h + m(torch.tanh(a) * torch.sigmoid(b))
        return self.post(h)


def apply_weight_norm(model):
    for module in list(model.modules()):
        if isinstance(module, nn.Conv1d):
            weight_norm(module)  # also


def ar_series(n, length=16):
    x = torch.randn(n, 1, length)
    for t in range(2, length):
        x[..., t] += 0.7 * x[..., t - 1] - 0.2 * x[..., t - 2]
    return x


def run():
    torch.manual_seed(0)
    model = DilatedStack()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)  # also
    apply_weight_norm(model)  # cause
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    for step in range(3):
        x = ar_series(6)
        pred = model(x[..., :-1])
        loss = nn.functional.mse_loss(pred, x[..., 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {n: torch.equal(p, before[n]) for n, p in model.named_parameters()}


def verify(same):
    assert not same["post.bias"]
    originals = [v for n, v in same.items() if "original" in n]
    assert len(originals) == 12 and all(originals), same


TRUTH = Truth(
    fault="weight_norm replaces the weights by original0 and original1 after the optimizer has taken the parameters: only biases train",
    names=("weight_norm",),
    repair=("apply_weight_norm(model)\noptimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)",),
)
