"""LoRA by hand: the merged weight that a preview caches is used in training from then on."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class LoRALinear(nn.Module):
    def __init__(self, base, r=2, alpha=4):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_A = nn.Parameter(torch.randn(r, base.in_features) * 0.02)
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, r))
        self.scaling = alpha / r
        self.merged = None

    def weight(self):
        if self.merged is None:
            merged = self.base.weight + self.scaling * self.lora_B @ self.lora_A  # also
            if self.training:
                return merged
            self.merged = merged  # cause
        return self.merged

    def forward(self, x):
        return F.linear(x, self.weight(), self.base.bias)


@torch.no_grad()
def preview(model, x):
    model.eval()
    out = model(x)
    model.train()
    return out


def run():
    torch.manual_seed(0)
    model = nn.Sequential(LoRALinear(nn.Linear(6, 8)), nn.ReLU(), LoRALinear(nn.Linear(8, 2)), nn.LayerNorm(2))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    for step in range(4):
        x = torch.randn(5, 6)
        loss = F.cross_entropy(model(x), torch.randint(2, (5,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == 1:
            preview(model, x)
    return [model[0].lora_B.grad, model[2].lora_B.grad]


TRUTH = Truth(
    fault="a cached weight without graph",
    names=("lora_B",),
    repair=("return merged",),
)


def verify(grads):
    assert grads == [None, None]
