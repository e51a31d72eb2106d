"""Movement pruning: the mask is a comparison of the scores, which therefore never move."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class MaskedLinear(nn.Module):
    def __init__(self, din, dout, threshold=0.0):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(dout, din))
        self.bias = nn.Parameter(torch.zeros(dout))
        self.scores = nn.Parameter(torch.randn(dout, din) * 0.01)
        self.threshold = threshold
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))

    def forward(self, x):
        mask = (self.scores > self.threshold).to(self.weight.dtype)  # cause
        return F.linear(x, self.weight * mask, self.bias)

    @property
    def sparsity(self):
        return (self.scores <= self.threshold).float().mean().item()


def run():
    torch.manual_seed(0)
    model = nn.Sequential(MaskedLinear(8, 24), nn.ReLU(), MaskedLinear(24, 3))
    start = model[0].scores.detach().clone()
    weights = [p for name, p in model.named_parameters() if not name.endswith("scores")]
    scores = [p for name, p in model.named_parameters() if name.endswith("scores")]
    opt = torch.optim.AdamW([{"params": weights}, {"params": scores, "lr": 0.1, "weight_decay": 0.0}], lr=1e-2)
    for _ in range(3):
        x, y = torch.randn(16, 8), torch.randint(3, (16,))
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()
    print([round(layer.sparsity, 2) for layer in model if isinstance(layer, MaskedLinear)])
    return start, model[0].scores


def verify(out):
    assert torch.equal(*out)


TRUTH = Truth(
    fault="the comparison needs a straight-through gradient",
    names=("scores",),
    repair=(
        "soft = self.scores.sigmoid()\n"
        "mask = (self.scores > self.threshold).to(self.weight.dtype) + soft - soft.detach()",
    ),
)
