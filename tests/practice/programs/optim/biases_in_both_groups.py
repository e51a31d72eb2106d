"""Weight decay groups: the norms' weights are in both."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.attn = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        return self.norm(x + self.attn(x, x, x, need_weights=False)[0])


def groups(model, decay=0.1):
    no_decay = [p for n, p in model.named_parameters() if n.endswith("bias") or "norm" in n]
    wd = [p for n, p in model.named_parameters() if not n.endswith("bias")]  # cause
    return [{"params": wd, "weight_decay": decay}, {"params": no_decay, "weight_decay": 0.0}]


def run():
    torch.manual_seed(0)
    model = nn.Sequential(Layer(4), Layer(4), nn.Linear(4, 1))
    optimizer = torch.optim.AdamW(groups(model), lr=1e-3)  # also
    for _ in range(2):
        loss = model(torch.randn(2, 3, 4)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


TRUTH = Truth(
    fault="a parameter in two groups",
    raises="some parameters appear in more than one parameter group",
    names=("norm.weight",),
    repair=('wd = [p for n, p in model.named_parameters() if not n.endswith("bias") and "norm" not in n]',),
)
