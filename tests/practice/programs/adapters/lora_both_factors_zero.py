"""Full fine-tuning to LoRA: `start as the identity` was done on both factors; each one's gradient is a product with the other, zero forever."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class LoRALinear(nn.Module):
    def __init__(self, base, rank=4, alpha=8.0):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_A = nn.Parameter(torch.empty(rank, base.in_features))
        self.lora_B = nn.Parameter(torch.empty(base.out_features, rank))
        self.scaling = alpha / rank
        self.reset_lora_parameters()

    def reset_lora_parameters(self):
        nn.init.zeros_(self.lora_A)  # cause
        nn.init.zeros_(self.lora_B)  # also

    def forward(self, x):
        return self.base(x) + self.scaling * F.linear(F.linear(x, self.lora_A), self.lora_B)


class Policy(nn.Module):
    def __init__(self, observations=6, actions=4):
        super().__init__()
        self.q = nn.Linear(observations, 12)
        self.v = nn.Linear(12, actions)

    def forward(self, x):
        return self.v(torch.tanh(self.q(x)))


def add_lora(model):
    model.requires_grad_(False)
    for name, child in list(model.named_children()):
        if isinstance(child, nn.Linear):
            setattr(model, name, LoRALinear(child))
    return model


def run():
    torch.manual_seed(0)
    model = add_lora(Policy())
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(trainable, lr=1e-2)
    for _ in range(4):
        x = torch.randn(10, 6)
        optimizer.zero_grad()
        F.cross_entropy(model(x), x[:, :4].argmax(dim=1)).backward()
        optimizer.step()
    return trainable


def verify(trainable):
    assert len(trainable) == 4
    assert all(p.grad is not None and not p.grad.any() and not p.any() for p in trainable)


TRUTH = Truth(
    fault="both LoRA factors start at zero: their gradients are exactly zero at every step",
    names=("lora",),
    repair=("nn.init.kaiming_uniform_(self.lora_A, a=5**0.5)",),
)
